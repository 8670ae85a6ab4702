// Functions as control sees them: a range of code together with all ranges that it shares control with. See fragments.cc.

#ifndef LINKER_REWRITE_PROGRAM_FRAGMENTS_H
#define LINKER_REWRITE_PROGRAM_FRAGMENTS_H

#include <string>
#include <utility>
#include <vector>

#include "linker-rewrite/base/address_index.h"
#include "functions.h"
#include "linker-rewrite/jumps/tables.h"

namespace profld {

// Ranges that are moved together or not at all.
struct Group {
  std::vector<uint32_t> ranges;  // indexes; functions first, then fragments
  FunctionCode code;       // parts in the same order; a range that does not decode has a part without instructions
  IndirectJumps indirect;  // filled by find_reasons_to_stay
  std::string reason;      // why it must stay in place; empty if it can move
};

struct Program {
  const Image* image = nullptr;
  const EhFrame* frames = nullptr;
  std::vector<CodeRange> ranges;
  std::vector<Group> groups;
  // At a fixed address: words of data that may be pointers to code, and where they would lead.
  std::vector<std::pair<OldAddr, OldAddr>> apparent_pointers;

  AddressIndex range_starts;
  std::vector<OldAddr> patch_sites{};  // see patch_sites.h; filled by find_reasons_to_stay

  const Code& code(const CodeRange& r) const { return groups[r.group].code.parts[r.part]; }
  // Index of the range that contains `a`, or -1.
  ptrdiff_t range_of(OldAddr a) const {
    const ptrdiff_t i = range_starts.last_not_above(a);
    return i >= 0 && a < ranges[size_t(i)].range.end ? i : -1;
  }
};

// Decodes all ranges, tells fragments from functions, and groups what belongs together.
Program group_functions(const Image& image, const EhFrame& frames, std::vector<CodeRange> ranges);

// Makes one group of the group `g` and that of `fragment`, which turns out to belong to it.
void add_fragment(Program& program, uint32_t g, uint32_t fragment);

// True if a direct jump from `from` (an instruction at `at`) to `target` leaves the function for good: a tail call,
// of itself perhaps.
bool is_tail_call(const Program& program, const CodeRange& from, OldAddr at, OldAddr target);

// True if what lies behind the last instruction of `from` is another function, to run on into which is to call it last.
bool runs_into_function(const Program& program, const CodeRange& from);

}  // namespace profld

#endif
