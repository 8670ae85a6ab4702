// Inclusive times of PROFTYPE=adaptive, of which only samples were taken: "Estimated times" in libprof/format/format.h.

#ifndef PROF_READ_ESTIMATE_H
#define PROF_READ_ESTIMATE_H

#include <cstdint>
#include <unordered_map>

#include "snapshot.h"

namespace prof {

struct Estimate {
  double cycles = 0;    // inclusive, the probe's cost and all
  double variance = 0;  // of the estimate; cycles^2
};

// Of the nodes of one thread.
class Estimator {
 public:
  // `end`: the time stamp up to which the thread is known to have run.
  Estimator(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end);

  // Of the node in a block. Never more cycles than the thread lived.
  Estimate inclusive(Block block, const prof_format::Node& node) const;

  // Of the root: cycles that the thread lived.
  double whole() const { return whole_; }

 private:
  // Calls of a node that have not returned.
  struct Open {
    uint64_t calls = 0;
    uint64_t weight = 0;  // of those that are timed
    double cycles = 0;    // that they have taken so far, as far as it is known
  };
  void find_open(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end);

  double whole_;
  std::unordered_map<Block, Open> open_;
};

}  // namespace prof

#endif
