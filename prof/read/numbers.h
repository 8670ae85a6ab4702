// The numbers in a profile's nodes (libprof/format/format.h) as calls and cycles.
//
// Of a number alone little can be said. A count is a count: it may be greater than the cycles that passed, in a program
// that lost the right to read the counter. A time that cannot be, longer than the thread ran, does not make its node
// and its count wrong. So numbers are kept, as the nearest that can be, and it is told which they are.

#ifndef PROF_READ_NUMBERS_H
#define PROF_READ_NUMBERS_H

#include <cstdint>

#include "profile.h"

namespace prof {

// Whether a program can have made so many calls: at a billion a second that takes 36 years.
inline bool is_possible_count(uint64_t calls) { return calls <= uint64_t(1) << 60; }

struct SelfTime {
  uint64_t cycles = 0;
  bool is_possible = true;  // false: what the node holds cannot be, and `cycles` is the nearest to it that can
};

// For the nodes of one thread.
class NumberReader {
 public:
  NumberReader(const Profile& profile, const Thread& thread);

  // Self cycles of the node in a block, if these were measured, up to when the thread ended or the profile was read.
  SelfTime self(Block block, uint64_t raw) const;

 private:
  bool measured_;
  uint64_t start_, end_;
  Block running_;
  uint64_t since_;
};

}  // namespace prof

#endif
