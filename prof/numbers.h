// The numbers in a profile's nodes (libprof/format.h) as calls and cycles.

#ifndef PROF_NUMBERS_H
#define PROF_NUMBERS_H

#include <cstdint>

#include "profile.h"

namespace prof {

// For the nodes of one thread. `damaged` is counted up for each number of which no sense can be made; it is taken for
// 0.
class NumberReader {
 public:
  NumberReader(const Profile& profile, const Thread& thread);

  uint64_t calls(uint64_t raw, uint64_t& damaged) const;

  // Self cycles of the node in a block, if these were measured, up to when the thread ended or the profile was read.
  uint64_t cycles(Block block, uint64_t raw, uint64_t& damaged) const;

 private:
  bool measured_;
  uint64_t start_, end_;
  Block running_;
  uint64_t since_;
};

}  // namespace prof

#endif
