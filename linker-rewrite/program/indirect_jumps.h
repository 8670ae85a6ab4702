// Indirect jumps inside a function, after the analysis (jumps/): the tables and labels that they go through.

#ifndef LINKER_REWRITE_PROGRAM_INDIRECT_JUMPS_H
#define LINKER_REWRITE_PROGRAM_INDIRECT_JUMPS_H

#include <cstring>
#include <utility>
#include <vector>

#include "linker-rewrite/x86/decode.h"

namespace profld {

// A place in the code: instruction `insn` of the function's part `part`.
struct InsnRef {
  uint32_t part;
  uint32_t insn;
  auto operator<=>(const InsnRef&) const = default;
};

// Four bytes of an instruction that name an address: a RIP-relative displacement, or a displacement or immediate that
// holds the address itself (non-PIE).
struct AddressField {
  InsnRef at;
  uint8_t field;      // offset in the instruction
  bool rip_relative;  // relative to the next instruction, else the address itself
};

// An entry of a jump table, of up to 8 bytes, as the code extends it to a word.
inline uint64_t read_entry(const uint8_t* p, uint8_t size, bool sign_extended) {
  uint64_t v = 0;
  std::memcpy(&v, p, size);
  if (!sign_extended || size == 0 || size >= 8) return v;
  const unsigned shift = 64 - size * 8u;
  return uint64_t(int64_t(v << shift) >> shift);
}

struct JumpTable {
  OldAddr address;  // that `uses` name: mostly where the table begins, but any entry may be there, or none
  OldAddr first;    // of the first entry in `targets`
  // relative: each entry, extended, plus `base` is the target. The base is the table's address (gcc and clang,
  // position independent), or a label of the function (distances between labels, &&a - &&b).
  // absolute: each entry, extended, is the target.
  bool relative;
  OldAddr base;
  uint8_t entry_size;              // bytes
  bool sign_extended;              // entries of less than 8 bytes; else with zeros
  std::vector<OldAddr> targets;    // one per entry; the end of the function's range stands for "cannot happen"
  size_t likely = 0;               // how many of these the table most likely has; the others do no harm
  std::vector<AddressField> uses;  // fields that name `address`, and must name what is in its place for the clone

  NewAddr named_in_clone(NewAddr clone) const { return clone + (address - first); }
};

// A use of the address of an instruction that is no entry, inside the function, or inside another one that control will
// go to: it must be changed to the address of the instruction's copy.
struct LabelUse {
  AddressField field;
  OldAddr label;
  auto operator<=>(const LabelUse& o) const { return field.at <=> o.field.at; }
  bool operator==(const LabelUse& o) const { return field.at == o.field.at; }
};

enum class JumpKind : uint8_t {
  table,      // through a table in `tables`
  labels,     // computed goto: through pointers to labels of this function, which lie in memory or come from a lea
  tail_call,  // leaves the function, whose frame is gone
  unwind,     // leaves the function for a frame further out: the stack pointer was loaded before (longjmp, eh_return)
};

struct IndirectJump {
  InsnRef at;
  JumpKind kind;
  size_t table = 0;               // kind table: index in `tables`
  bool through_array = false;     // kind tail_call: through an array of pointers, none of which leads into the function
  OldAddr array{};                // of `through_array`: where it begins
  bool may_be_label = false;      // kind tail_call: by a pointer that may be an address which the function names
  bool may_be_tail_call = false;  // kind labels: by a pointer, which may lead elsewhere, with nothing on the stack
};

struct IndirectJumps {
  std::vector<JumpTable> tables;     // no two with the same address and form
  std::vector<IndirectJump> jumps;   // ascending
  std::vector<LabelUse> label_uses;  // sorted, no two in the same instruction
  // Words in data that hold the address of a label and have no relocation (non-PIE); set if a jump is of kind `labels`.
  std::vector<OldAddr> label_words;
  // Labels whose addresses stand in words that may be something else. These words are not changed
  // (jumps/jump_analysis.cc), so control may arrive at the old labels.
  std::vector<OldAddr> label_arrivals;
};

// A function as far as control stays in it: its main range first, then its fragments (foo.cold).
struct FunctionCode {
  OldAddr entry;
  std::vector<Code> parts;
};

}  // namespace profld

#endif
