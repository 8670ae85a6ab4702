// Indirect jumps inside a function: which of them go through a jump table, and where to; which through pointers to
// labels (computed goto); which leave the function (tail calls).

#ifndef LINKER_REWRITE_JUMPS_TABLES_H
#define LINKER_REWRITE_JUMPS_TABLES_H

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/x86/decode.h"
#include "linker-rewrite/unwind/eh_frame.h"

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

// What every function's analysis shares about the image, made once.
struct DataReferences {
  // Addresses at which, as far as known, an object in read-only or writable data begins (symbols, targets of
  // relocations and of RIP-relative operands): a table that has no known bound ends there.
  std::vector<OldAddr> object_starts;  // sorted
  // Words in data that hold the address of code (address of word, target), sorted by target. Relocations tell
  // (RELATIVE, RELR); in a program at a fixed address there are none, and these are all aligned words that look like
  // it.
  std::vector<std::pair<OldAddr, OldAddr>> code_pointers;
};

// All aligned words in data that look like the address of code, for programs at a fixed address; ascending by segment.
std::vector<std::pair<OldAddr, OldAddr>> find_apparent_code_pointers(const Image& image);

// The address in jmp *address(,%index,8) or mov address(,%index,8), %register, for programs at a fixed address.
std::optional<OldAddr> table_named_by(const Code& code, const Insn& insn);

// Why a function's indirect jumps could not be resolved.
struct Unresolved {
  std::string reason;  // for the report
  // If it is only that a jump table leads to code that is not part of the function: where. The caller may know that
  // this is a fragment of the function, and try again with it.
  OldAddr outside;
};

// Resolves every indirect jump of the function, or gives nullopt and `why`.
std::optional<IndirectJumps> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                    const DataReferences& data, const FunctionCode& function,
                                                    Unresolved* why);

// True if some return of the function may go elsewhere than to its caller (retpolines, context switches: the return
// address is pushed or overwritten), or if it calls the next instruction to learn its own address.
bool return_address_is_changed(const FunctionCode& function);

}  // namespace profld

#endif
