// Finds functions that neither unwind tables nor symbols tell of. See discover.cc.

#ifndef LINKER_REWRITE_DISCOVER_DISCOVER_H
#define LINKER_REWRITE_DISCOVER_DISCOVER_H

#include <functional>
#include <optional>
#include <vector>

#include "body.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/unwind/eh_frame.h"

namespace profld {

// Entries of unwind tables, made for functions that have none: from them the other stages read where a function starts
// and ends, and where its frame is in place. They are not written to the output.
struct MadeFrames {
  EhFrame frames;
  Bytes programs;  // the made entries' call-frame programs, which `frames` refers to
};

// What is known of a range of code that was found.
struct FoundRange {
  OldRange range;
  // It may be the start of a function. Else it is a part of one, to which control comes from another range of it.
  bool is_start = false;
  bool no_return_address = false;
  std::optional<Reason> stays;  // why it cannot be moved
  std::vector<FrameRow> rows;   // ascending; the first is that of its start
};

// Adds an entry for each range, which no entry of `known` overlaps.
MadeFrames make_frames(const EhFrame& known, const std::vector<FoundRange>& found);

// The unwind tables of `program` with entries for what was found; nullopt if nothing leads to code that the program's
// ranges do not cover. `program` is made from what is known (group_functions). `show` is called now and then: which
// part of the code has been gone through, 0 to 1.
std::optional<MadeFrames> discover_functions(const Program& program, const std::function<void(double)>& show);

}  // namespace profld

#endif
