// Unwind-table entries for functions that have none: the other stages read of them where a function starts and ends, and
// where its frame is in place. They are not written to the output.

#ifndef LINKER_REWRITE_DISCOVER_MADE_FRAMES_H
#define LINKER_REWRITE_DISCOVER_MADE_FRAMES_H

#include <optional>
#include <vector>

#include "body.h"
#include "linker-rewrite/unwind/eh_frame.h"

namespace profld {

struct MadeFrames {
  EhFrame frames;
  Bytes programs;  // the made entries' call-frame programs, which `frames` refers to
};

// What is known of a range of code that was found.
struct FoundRange {
  OldRange range;
  bool is_start = false;  // a function's, perhaps; else control comes from another range of the same function
  bool no_return_address = false;
  std::optional<Reason> stays;  // why it cannot be moved
  std::vector<FrameRow> rows;   // ascending; the first is that of its start
};

// Adds an entry for each range, which no entry of `known` overlaps.
MadeFrames make_frames(const EhFrame& known, const std::vector<FoundRange>& found);

}  // namespace profld

#endif
