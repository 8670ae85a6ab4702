// What a process of a run, or a thread of it, took by itself: the figures of the lists of processes and of threads.

#ifndef PROF_MODEL_TREE_PART_TIMES_H
#define PROF_MODEL_TREE_PART_TIMES_H

#include <cstdint>
#include <optional>

#include "prof/read/profile.h"

namespace prof {

struct PartTimes {
  std::optional<double> elapsed, processor, waiting;  // seconds; none where the profile does not tell
  uint64_t calls = 0;                                 // those that found no room, too
};

// Of a process.
PartTimes part_times(const Profile& profile);

// Of a thread of it.
PartTimes part_times(const Profile& profile, const Thread& thread);

}  // namespace prof

#endif
