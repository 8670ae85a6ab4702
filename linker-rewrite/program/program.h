// The program as the stages after decoding see it: groups of ranges of code that share control (fragments.cc).

#ifndef LINKER_REWRITE_PROGRAM_PROGRAM_H
#define LINKER_REWRITE_PROGRAM_PROGRAM_H

#include <optional>
#include <utility>
#include <vector>

#include "frame_tables.h"
#include "functions.h"
#include "indirect_jumps.h"
#include "linker-rewrite/base/address_index.h"
#include "linker-rewrite/base/reason.h"

namespace profld {

// A function of another file that this program calls, see decide/import_calls.cc.
struct Import {
  std::string name;   // its symbol's
  OldAddr address{};  // what stands for it: a linker's stub that leads to it, else the word that holds its address
  bool has_stub = false;
  bool is_called = false, is_jumped_to = false;  // by instructions that get hooks
  bool keeps_hooks = false;                      // which stay, though others leave
};

// A call of an import, or a tail jump to one, that gets hooks.
struct ImportCall {
  InsnRef at;
  uint32_t import;  // index in Program::imports
};

// Why a function of a library is not selected though the user did not ask for that (decide/selection.h).
enum class LeftOut : uint8_t { too_small, chosen_by_resolver, replaced };

// An address of code in no range that a range names.
struct OutsideReference {
  enum class Kind : uint8_t {
    function,  // it is called, or jumped to from what unwind tables describe, or the outermost function names it
    jumped,    // jumped to from what only symbols tell of, which may go on there
    named,     // it may be a label
  };
  OldAddr target;
  Kind kind;
};

// Ranges that are moved together or not at all.
struct Group {
  std::vector<uint32_t> ranges;  // indexes; functions first, then fragments
  FunctionCode code;       // parts in the same order; a range that does not decode has a part without instructions
  IndirectJumps indirect;  // filled by find_reasons_to_stay
  std::vector<ImportCall> import_calls;  // ascending; filled by select_import_calls
  std::vector<InsnRef> task_calls;       // ascending; filled by select_task_calls
  std::optional<Reason> reason;          // why it has to stay in place; none if it can move
  bool selected = false;                 // by the user, see decide/selection.h
  std::optional<LeftOut> left_out{};     // then it is not selected
  bool hooked = false;                   // if it moves, its functions call the hooks
  bool keeps_hooks = false;              // which stay, though others leave

  bool moves() const { return selected && !reason; }
  // If there are several reasons, the first is kept.
  void stay(const Reason& why) {
    if (!reason) reason = why;
  }
};

// Where a function begins in the middle of a range, which therefore stays (fragments.cc).
struct InnerEntry {
  OldAddr at;
  OldAddr caller;  // the instruction that tells
  bool operator<(const InnerEntry& other) const { return at < other.at; }
};

struct Program {
  const Image* image = nullptr;
  const EhFrame* frames = nullptr;
  std::vector<CodeRange> ranges;
  std::vector<Group> groups;
  // At a fixed address: words of data that may be pointers to code, and where they would lead.
  std::vector<std::pair<OldAddr, OldAddr>> apparent_pointers;

  std::vector<OutsideReference> outside;  // without those to the linker's stubs

  AddressIndex range_starts;
  std::vector<InnerEntry> inner_entries{};  // ascending, each once
  std::vector<OldAddr> patch_sites{};       // see patch_sites.h; filled by find_reasons_to_stay
  std::vector<Import> imports{};            // filled by select_import_calls
  FrameTables frame_tables{};               // of OCaml programs
  // The runtime takes hooks away while the program runs (libprof/format/hook_sites.h). So a function enters and leaves
  // by hooks of its own in any case, those that do a part of another function's work are in no use.
  bool hooks_leave = false;

  const Code& code(const CodeRange& r) const { return groups[r.group].code.parts[r.part]; }
  // Index of the range that contains `a`, or -1.
  ptrdiff_t range_of(OldAddr a) const {
    const ptrdiff_t i = range_starts.last_not_above(a);
    return i >= 0 && a < ranges[size_t(i)].range.end ? i : -1;
  }
};

}  // namespace profld

#endif
