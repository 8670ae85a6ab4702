// What some ranges of addresses leave of another.

#ifndef LINKER_REWRITE_BASE_RANGES_H
#define LINKER_REWRITE_BASE_RANGES_H

#include <algorithm>
#include <functional>
#include <vector>

#include "address.h"

namespace profld {

// Appends the parts of `whole` that no range of `covered` covers, ascending. range_of(c) is the range of one of these; they
// ascend, and do not overlap.
template <class Covered, class RangeOf = std::identity>
void append_uncovered(std::vector<OldRange>& out, OldRange whole, const Covered& covered, RangeOf range_of = {}) {
  const auto end_of = [&](const auto& c) { return std::invoke(range_of, c).end; };
  OldAddr at = whole.start;
  for (auto c = std::ranges::upper_bound(covered, whole.start, {}, end_of); c != std::ranges::end(covered); ++c) {
    const OldRange range = std::invoke(range_of, *c);
    if (range.start >= whole.end) break;
    if (range.start > at) out.push_back({at, range.start});
    at = std::max(at, range.end);
  }
  if (at < whole.end) out.push_back({at, whole.end});
}

}  // namespace profld

#endif
