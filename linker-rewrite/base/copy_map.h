// Where each instruction of the original program went. A copy differs from its original only at a few places (hooks,
// widened branches), so the map of one range is a short list of offsets at which the distance between old and new
// grows.

#ifndef LINKER_REWRITE_BASE_COPY_MAP_H
#define LINKER_REWRITE_BASE_COPY_MAP_H

#include <algorithm>
#include <string>
#include <vector>

#include "address.h"
#include "address_index.h"

namespace profld {

// One contiguous range of original code and its contiguous copy.
struct RangeCopy {
  OldRange original;
  OldAddr function;   // entry of the function it belongs to (== original.start unless it is a fragment)
  NewAddr start;      // of the copy, hook included
  uint64_t size = 0;  // bytes of the copy
  uint32_t body = 0;  // offset in the copy of the original's first instruction, after the entry hook
  bool fragment = false;
  // Bytes at its end that stand for single places in it: what records of a trace need, and counted ways.
  uint32_t out_of_line = 0;
  uint32_t index = 0;  // its own, in CopyMap::copies

  struct Step {
    uint32_t from;   // offset in the original from which on (inclusive) `delta` holds
    uint32_t delta;  // offset in the copy - offset in the original
  };
  // Ascending by `from`. An instruction's place in the copy includes the hook or other code inserted before it, so that
  // branches to it and unwind rows that begin at it include the hook. The first step is {0, 0}: the entry hook is
  // included, the step for the second instruction covers it.
  std::vector<Step> steps;

  // Code that stands several times in the copy, one after the other; the steps are of the first time.
  struct Loop {
    uint32_t offset, size;  // in the copy, of the first time
    uint32_t times;
  };
  std::vector<Loop> loops{};  // ascending

  // Offset in the copy for an offset in the original in [0, original.size()]; inside an instruction it is meaningless.
  uint64_t offset(uint64_t old_offset) const;
  NewAddr address(OldAddr a) const { return start + offset(a - original.start); }
  // The same, but for the first instruction the offset is that of the body, not of the hook (or ENDBR64 and hook)
  // before it.
  NewAddr body_address(OldAddr a) const { return start + std::max<uint64_t>(offset(a - original.start), body); }
};

// What stands in the new code for a function of another file.
struct ImportCopy {
  NewAddr start;  // of the code that calls the hooks for it
  uint64_t size;
  OldAddr original;        // the linker's stub that leads to it, or the word in the GOT that holds its address
  uint64_t original_size;  // bytes of the stub; 0 if it is a word
  std::string name;        // its symbol's
};

class CopyMap {
 public:
  void expect(size_t count) { copies_.reserve(count); }
  void add(RangeCopy copy) { copies_.push_back(std::move(copy)); }
  void sort();  // to be called once after the last add; numbers the copies

  const std::vector<RangeCopy>& copies() const { return copies_; }  // sorted by original.start
  const RangeCopy* find(OldAddr a) const;                           // the copy of the range that contains `a`, or null

  // Where a call or a jump to `target` of the original must lead: a call to the entry hook, a jump to the instruction
  // after it. Code that was not copied is where it was.
  NewAddr call_target(OldAddr target) const {
    const RangeCopy* c = find(target);
    return c ? c->address(target) : unmoved(target);
  }
  NewAddr jump_target(OldAddr target) const {
    const RangeCopy* c = find(target);
    return c ? c->body_address(target) : unmoved(target);
  }

 private:
  std::vector<RangeCopy> copies_;
  AddressIndex starts_;
};

inline uint64_t RangeCopy::offset(uint64_t old_offset) const {
  auto after = std::ranges::upper_bound(steps, old_offset, {}, &Step::from);
  return old_offset + std::prev(after)->delta;
}

inline void CopyMap::sort() {
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

inline const RangeCopy* CopyMap::find(OldAddr a) const {
  const ptrdiff_t i = starts_.last_not_above(a);
  return i >= 0 && a < copies_[size_t(i)].original.end ? &copies_[size_t(i)] : nullptr;
}

}  // namespace profld

#endif
