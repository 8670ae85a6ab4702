#include "copymap.h"

#include <algorithm>

namespace profld {

uint64_t RangeCopy::offset(uint64_t old_offset) const {
  auto after = std::ranges::upper_bound(steps, old_offset, {}, &Step::from);
  return old_offset + std::prev(after)->delta;
}

void CopyMap::sort() {
  std::ranges::sort(copies_, {}, [](const RangeCopy& c) { return c.original.start; });
}

const RangeCopy* CopyMap::find(OldAddr a) const {
  auto after = std::ranges::upper_bound(copies_, a, {}, [](const RangeCopy& c) { return c.original.start; });
  if (after == copies_.begin()) return nullptr;
  const RangeCopy& c = *std::prev(after);
  return c.original.contains(a) ? &c : nullptr;
}

}  // namespace profld
