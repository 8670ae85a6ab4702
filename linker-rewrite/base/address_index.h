// Finds the range that an address is in. This is asked so often that a search among the starts of all ranges takes too
// long. So the span of the starts is cut into equal pieces, about as many as there are starts, and each piece says
// which start is the first in it.

#ifndef LINKER_REWRITE_BASE_ADDRESS_INDEX_H
#define LINKER_REWRITE_BASE_ADDRESS_INDEX_H

#include <algorithm>
#include <cstddef>
#include <vector>

#include "address.h"

namespace profld {

class AddressIndex {
 public:
  AddressIndex() = default;
  // `starts` must be ascending.
  explicit AddressIndex(std::vector<OldAddr> starts) : starts_(std::move(starts)) {
    if (starts_.empty()) return;
    while (piece_of(starts_.back()) > starts_.size()) ++shift_;
    first_.reserve(piece_of(starts_.back()) + 2);
    for (size_t i = 0; i < starts_.size(); ++i) first_.resize(piece_of(starts_[i]) + 1, uint32_t(i));
    first_.push_back(uint32_t(starts_.size()));
  }

  // Index of the last start that is not above `a`; -1 if there is none.
  ptrdiff_t last_not_above(OldAddr a) const {
    if (starts_.empty() || a < starts_.front()) return -1;
    const uint64_t piece = std::min<uint64_t>(piece_of(a), first_.size() - 2);
    // Starts in this piece; before them, all are below.
    const auto begin = starts_.begin() + first_[piece], end = starts_.begin() + first_[piece + 1];
    return std::upper_bound(begin, end, a) - starts_.begin() - 1;
  }

 private:
  uint64_t piece_of(OldAddr a) const { return (a - starts_.front()) >> shift_; }

  std::vector<OldAddr> starts_;
  std::vector<uint32_t> first_;  // of each piece: the index of the first start in it or after it; last: their number
  unsigned shift_ = 0;
};

}  // namespace profld

#endif
