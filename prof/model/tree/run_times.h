// How long the profiled programs ran, and how much of it their threads had a processor.

#ifndef PROF_MODEL_TREE_RUN_TIMES_H
#define PROF_MODEL_TREE_RUN_TIMES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "prof/read/profile.h"

namespace prof {

struct RunTimes {
  size_t processes = 0, threads = 0;
  double elapsed = 0;                     // seconds that each process ran and recording was on, added up
  std::optional<double> processor = 0.0;  // seconds that all threads had a processor, hooks included; none if unknown
  double outside = 0;                     // seconds of these in no function with hooks; 0 if unknown
  std::optional<uint64_t> preempted = 0;  // how often it was taken from them, the same

  // How many of the processes were not begun by another one of them: several are runs that are added up.
  size_t runs() const;

  // `hz`: ticks of its time stamps in a second.
  void add(const Profile& profile, double hz);

  // For remarks: "on a processor 2.100 s of 8.300 s, preempted 412 times"; "" if that is not known.
  std::string line() const;

  // Whether the program waited, or others had its processor, for so long that elapsed times say little of it.
  bool is_mostly_waiting() const {
    return processes == 1 && threads == 1 && processor && elapsed > 0.01 && *processor < 0.8 * elapsed;
  }

 private:
  std::map<uint32_t, uint32_t> parents_;  // of each process, by number
};

// What a process of a run, or a thread of it, took by itself: the figures of the lists of processes and of threads.
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
