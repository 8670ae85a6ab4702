// A set of addresses in code: a bit for each byte. A program of 250 MB names ten million addresses in its code, most of
// them several times; as a list they would take more memory, and more time to sort.

#ifndef LINKER_REWRITE_BASE_CODE_SET_H
#define LINKER_REWRITE_BASE_CODE_SET_H

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "address.h"

namespace profld {

class CodeSet {
 public:
  // Of addresses in `code`, which must be ascending.
  explicit CodeSet(const std::vector<OldRange>& code) {
    uint64_t words = 0;
    for (OldRange r : code) {
      parts_.push_back({r, words});
      words += (r.size() + 63) / 64;
    }
    bits_.resize(words);
  }

  // Several threads may add at the same time. What is not in the code is passed over.
  void add(OldAddr a) {
    const Part* part = part_of(a);
    if (!part) return;
    const uint64_t bit = a - part->range.start;
    std::atomic_ref<uint64_t> word(bits_[part->first + bit / 64]);
    const uint64_t mask = uint64_t(1) << bit % 64;
    if ((word.load(std::memory_order_relaxed) & mask) == 0) word.fetch_or(mask, std::memory_order_relaxed);
  }

  // No other thread may use the set at the same time.
  void remove(OldAddr a) {
    const Part* part = part_of(a);
    if (!part) return;
    const uint64_t bit = a - part->range.start;
    bits_[part->first + bit / 64] &= ~(uint64_t(1) << bit % 64);
  }

  bool contains(OldAddr a) const {
    const Part* part = part_of(a);
    if (!part) return false;
    const uint64_t bit = a - part->range.start;
    return (bits_[part->first + bit / 64] >> bit % 64 & 1) != 0;
  }

  // The first address of the set in [from, limit), which is a part of the code; `limit` if there is none.
  OldAddr next(OldAddr from, OldAddr limit) const {
    const Part* part = part_of(from);
    if (!part || from >= limit) return limit;
    const uint64_t end = limit - part->range.start;
    for (uint64_t bit = from - part->range.start; bit < end; bit = (bit / 64 + 1) * 64)
      if (const uint64_t rest = bits_[part->first + bit / 64] >> bit % 64; rest != 0)
        return std::min(limit, part->range.start + (bit + uint64_t(std::countr_zero(rest))));
    return limit;
  }

 private:
  struct Part {
    OldRange range;
    uint64_t first;  // index of its first word
  };

  const Part* part_of(OldAddr a) const {
    const auto after = std::ranges::upper_bound(parts_, a, {}, [](const Part& p) { return p.range.start; });
    return after != parts_.begin() && std::prev(after)->range.contains(a) ? &*std::prev(after) : nullptr;
  }

  std::vector<Part> parts_;
  std::vector<uint64_t> bits_;
};

}  // namespace profld

#endif
