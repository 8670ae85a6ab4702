// How long the calls of a function lasted that have ended, as a profile has it (Durations in libprof/format/format.h):
// how many calls there are in each bucket, which is at most 1/16 as wide as what it holds.

#ifndef PROF_READ_DURATIONS_H
#define PROF_READ_DURATIONS_H

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "libprof/format/format.h"

namespace prof {

class Snapshot;
struct RecordedNode;

class CallDurations {
 public:
  struct Bucket {
    uint64_t low = 0, high = 0;  // cycles; a call that lasted `high` is in the next one
    uint64_t calls = 0;
  };

  // Adds calls, whose cycles are first multiplied by `scale`.
  void add(const CallDurations& other, double scale = 1);

  uint64_t calls() const { return calls_; }
  // Cycles of the shortest and of the longest call, to the cycle; 0 if it was shorter than kShortestDuration.
  uint64_t least() const { return short_calls() != 0 ? 0 : least_; }
  uint64_t greatest() const { return greatest_; }
  // Whether they are of some of the calls alone, of the first ones: hooks left the function.
  bool are_of_first_calls() const { return are_of_first_calls_; }
  uint64_t short_calls() const { return calls_by_bucket_.contains(0) ? calls_by_bucket_.at(0) : 0; }

  // The duration in cycles that this part of the calls, from 0 to 1, does not exceed, but for the width of a bucket; 0
  // if it is less than kShortestDuration. There must be calls.
  uint64_t percentile(double part) const;

  // Those that have calls, from the shortest on.
  std::vector<Bucket> buckets() const;

 private:
  friend class DurationsDecoder;
  void add_calls(uint32_t bucket, uint64_t calls);
  void add_call(uint64_t cycles);
  // Of what calls_by_bucket_ does not tell.
  void widen(uint64_t least, uint64_t greatest);

  std::map<uint32_t, uint64_t> calls_by_bucket_;  // 0: the short ones
  uint64_t calls_ = 0, least_ = 0, greatest_ = 0;
  bool are_of_first_calls_ = false;
};

// The calls of the nodes with a pc, which may be there more than once.
struct DurationsAt {
  uint64_t pc = 0;
  CallDurations durations;
};

// Decodes the durations of a profile, thread by thread. What cannot be is left out.
class DurationsDecoder {
 public:
  explicit DurationsDecoder(const Snapshot& snapshot) : snapshot_(snapshot) {}

  // Those of a thread with these nodes, as they were decoded, the first not yet seen.
  std::vector<DurationsAt> decode(const prof_format::Thread& thread, const std::vector<RecordedNode>& nodes);

  // By thread, in the order in which they were decoded: whether it has some together with others. The first of these
  // has them.
  const std::vector<bool>& are_shared() const { return are_shared_; }

 private:
  const prof_format::Durations* take(prof_format::Block block);
  CallDurations counted(const prof_format::Durations& raw);
  void add_logged(prof_format::Block newest, std::map<uint64_t, CallDurations>& by_pc);

  const Snapshot& snapshot_;
  std::unordered_map<prof_format::Block, size_t> thread_of_;  // by block of what was decoded
  std::vector<bool> are_shared_;
};

// How many calls have ended whose durations found no room.
uint64_t durations_without_room(const Snapshot& snapshot);

}  // namespace prof

#endif
