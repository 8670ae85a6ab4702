// When the samples of a run were taken: how many in each slice of its time, of each thread, with each chain.
//
// The problem. A run may be of a second or of a day, and whoever looks at it has a thousand pixels. With its time, each
// sample would be a record of its own, and there may be any number of them.
//
// The way taken. The time is cut into slices of equal length, and samples of a slice that are of one thread and have
// one chain are a count. There are at most kMaxSlices: when a run goes on after the last one, each two become one. The
// same is done when there are too many counts, as long as kMinSlices are left. So a slice is about a thousandth of the
// run, or a hundredth where threads and chains are of many kinds; and there are no more counts than samples.

#ifndef PROF_SAMPLE_TIMELINE_H
#define PROF_SAMPLE_TIMELINE_H

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace prof {

inline constexpr uint32_t kMaxSlices = 2048, kMinSlices = 128;

struct TimedSamples {
  uint32_t slice = 0;
  uint32_t thread = 0;  // index into Samples::threads
  uint32_t chain = 0;   // index into SampledChains::nodes
  bool in_kernel = false;
  uint64_t samples = 0;
};

struct SampleTimes {
  uint64_t slice = 0;                     // nanoseconds of one slice; 0 if nothing is known
  uint64_t length = 0;                    // nanoseconds from the beginning of the run to the last that is known of it
  std::vector<TimedSamples> counts = {};  // in order of their slices
};

// Makes it, sample by sample.
class Timeline {
 public:
  // Of one that lasted until `time`, in nanoseconds of any clock. The run begins at the time of the first call.
  void go_on(uint64_t time);
  // `thread`: any number.
  void add(uint64_t time, uint64_t thread, uint32_t chain, bool in_kernel, uint64_t samples);

  // `threads`: by those numbers, indexes.
  SampleTimes finish(const std::map<uint64_t, uint32_t>& threads) const;

 private:
  struct Key {
    uint32_t slice;
    uint64_t thread;
    uint32_t chain;
    bool in_kernel;
    auto operator<=>(const Key&) const = default;
  };
  uint32_t slice_of(uint64_t time) const { return time > begin_ ? uint32_t((time - begin_) / slice_) : 0; }
  void join_slices();

  uint64_t begin_ = 0, end_ = 0;  // both 0: not yet begun
  uint64_t slice_ = 100'000;      // nanoseconds
  std::map<Key, uint64_t> counts_;
};

}  // namespace prof

#endif
