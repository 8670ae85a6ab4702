// Three kinds of numbers that must never be mixed up: virtual addresses in the original program, virtual addresses in
// what we add to it, and offsets in a file; and ranges of them. All are link-time addresses: a PIE's start at 0.
//
// Data does not move: the address of a variable is an OldAddr before and after rewriting. Code has both: the OldAddr
// where it stands in the original text, and the NewAddr of its copy.

#ifndef LINKER_REWRITE_BASE_ADDRESS_H
#define LINKER_REWRITE_BASE_ADDRESS_H

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

namespace profld {

template <class Kind>
struct Address {
  uint64_t value = 0;

  constexpr Address() = default;
  constexpr explicit Address(uint64_t v) : value(v) {}

  constexpr auto operator<=>(const Address&) const = default;
  constexpr Address operator+(uint64_t n) const { return Address(value + n); }
  constexpr Address operator-(uint64_t n) const { return Address(value - n); }
  constexpr uint64_t operator-(Address other) const { return value - other.value; }
  constexpr Address& operator+=(uint64_t n) {
    value += n;
    return *this;
  }
};

using OldAddr = Address<struct OldKind>;        // in the original program
using NewAddr = Address<struct NewKind>;        // in the segments that profld adds
using FileOffset = Address<struct OffsetKind>;  // bytes from the start of a file

// The address is the same after loading: for references from copies to what stayed in place.
constexpr NewAddr unmoved(OldAddr a) { return NewAddr(a.value); }

// Smallest multiple of `align` (a power of two) that is not below `value`.
constexpr uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

struct OldRange {
  OldAddr start;
  OldAddr end;  // exclusive
  constexpr bool contains(OldAddr a) const { return a >= start && a < end; }
  constexpr uint64_t size() const { return end - start; }
};

struct NewRange {
  NewAddr start;
  NewAddr end;  // exclusive
};

// Appends the parts of `whole` that no range of `covered` covers, ascending. range_of(c) is the range of one of these;
// they ascend, and do not overlap.
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

template <class Kind>
struct std::hash<profld::Address<Kind>> {
  size_t operator()(profld::Address<Kind> a) const noexcept { return std::hash<uint64_t>()(a.value); }
};

#endif
