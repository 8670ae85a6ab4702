#include "copy_map.h"

#include <algorithm>

namespace profld {

uint64_t RangeCopy::offset(uint64_t old_offset) const {
  auto after = std::ranges::upper_bound(steps, old_offset, {}, &Step::from);
  return old_offset + std::prev(after)->delta;
}

void CopyMap::sort() {
  const auto start_of = [](const RangeCopy& c) { return c.original.start; };
  if (!std::ranges::is_sorted(copies_, {}, start_of)) std::ranges::sort(copies_, {}, start_of);
  std::vector<OldAddr> starts;
  starts.reserve(copies_.size());
  for (RangeCopy& c : copies_) {
    c.index = uint32_t(starts.size());
    starts.push_back(c.original.start);
  }
  starts_ = AddressIndex(std::move(starts));
}

const RangeCopy* CopyMap::find(OldAddr a) const {
  const ptrdiff_t i = starts_.last_not_above(a);
  return i >= 0 && a < copies_[size_t(i)].original.end ? &copies_[size_t(i)] : nullptr;
}

}  // namespace profld
