// Indirect jumps inside a function, once they are understood (jumps/): through which tables and labels they go.

#ifndef LINKER_REWRITE_PROGRAM_INDIRECT_JUMPS_H
#define LINKER_REWRITE_PROGRAM_INDIRECT_JUMPS_H

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

struct JumpTable {
  OldAddr address;
  // relative: each entry, sign-extended, plus `base` is the target. The base is the table's address (gcc and clang,
  // position independent), or a label of the function (distances between labels, &&a - &&b).
  // absolute: each entry is the target.
  bool relative;
  OldAddr base;
  uint8_t entry_size;              // bytes
  std::vector<OldAddr> targets;    // one per entry; the end of the function's range stands for "cannot happen"
  std::vector<AddressField> uses;  // which name the table's address and must name the clone's instead
};

// A use of the address of an instruction inside the function, or of one inside another to which control will go, and
// not its entry: it must become that of its copy.
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
  size_t table = 0;  // kind table: which of the function's
};

struct IndirectJumps {
  std::vector<JumpTable> tables;  // no two of the same address and form
  std::vector<IndirectJump> jumps;
  std::vector<LabelUse> label_uses;  // sorted, no two of the same instruction
  // Words in data that hold the address of a label and have no relocation (non-PIE); set if a jump is of kind `labels`.
  std::vector<OldAddr> label_words;
  // Labels whose addresses stand in words that may be something else, and are not changed (label_words.cc): control may
  // arrive at the old ones.
  std::vector<OldAddr> label_arrivals;
};

// A function as far as control stays in it: its main range first, then its fragments (foo.cold).
struct FunctionCode {
  OldAddr entry;
  std::vector<Code> parts;
};

}  // namespace profld

#endif
