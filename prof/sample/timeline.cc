#include "timeline.h"

#include <algorithm>

namespace prof {

namespace {

// Some 6 MB while a program runs. Where kMinSlices have more, there are more.
constexpr size_t kMaxCounts = 1 << 16;

}  // namespace

void Timeline::go_on(uint64_t time) {
  if (begin_ == 0) begin_ = end_ = time;
  end_ = std::max(end_, time);
  while ((end_ - begin_) / slice_ >= kMaxSlices) join_slices();
}

void Timeline::add(uint64_t time, uint64_t thread, uint32_t chain, bool in_kernel, uint64_t samples) {
  go_on(time);
  counts_[{slice_of(time), thread, chain, in_kernel}] += samples;
  // Half as many, so that it is not done again soon.
  if (counts_.size() > kMaxCounts)
    while (counts_.size() > kMaxCounts / 2 && slice_of(end_) >= 2 * kMinSlices) join_slices();
}

void Timeline::join_slices() {
  slice_ *= 2;
  std::map<Key, uint64_t> joined;
  for (const auto& [key, samples] : counts_) {
    Key half = key;
    half.slice /= 2;
    joined[half] += samples;
  }
  counts_ = std::move(joined);
}

SampleTimes Timeline::finish(const std::map<uint64_t, uint32_t>& threads) const {
  if (counts_.empty()) return {};
  SampleTimes times = {slice_, end_ - begin_};
  for (const auto& [key, samples] : counts_) {
    const auto thread = threads.find(key.thread);
    if (thread != threads.end()) times.counts.push_back({key.slice, thread->second, key.chain, key.in_kernel, samples});
  }
  return times;
}

}  // namespace prof
