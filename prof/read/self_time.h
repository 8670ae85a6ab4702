// The self times in a profile's nodes (libprof/format/format.h), as raw cycles (cycles.h).
//
// A time longer than the thread ran is impossible. That does not make its node and its count wrong. So it is kept, as
// the nearest time that is possible, and marked. Of a count less can be said: it may be greater than the cycles that
// passed, in a program that lost the right to read the counter.

#ifndef PROF_READ_SELF_TIME_H
#define PROF_READ_SELF_TIME_H

#include <cstdint>

#include "libprof/format/format.h"

namespace prof {

// Whether a program can have made so many calls: at a billion a second that takes 36 years.
inline bool is_possible_count(uint64_t calls) { return calls <= uint64_t(1) << 60; }

struct SelfTime {
  uint64_t cycles = 0;
  bool is_possible = true;  // false: what the node holds is impossible, and `cycles` is the nearest possible time
};

// Of PROFTYPE=sample: a number of samples in a node. One that ran for a hundred years has 2^40.
struct SampleCount {
  uint64_t count = 0;
  bool is_possible = true;  // as in SelfTime
};
SampleCount samples_of(uint64_t raw);

// How long the self times of one thread can be, which ran up to `end`, a time stamp.
class SelfTimeLimit {
 public:
  SelfTimeLimit(const prof_format::Header& header, uint64_t end);

  // `raw`: cycles, as in a node; `since`: cycles that it ran since then. 0 if the profile has no self times.
  SelfTime of(uint64_t raw, uint64_t since = 0) const;

 private:
  bool is_measured_;
  uint64_t start_, end_;
};

}  // namespace prof

#endif
