// What a PROFTYPE is: its name, whether and by which clock it takes times, what its nodes hold. Its hooks are chosen in
// hook_selection.cc.
//
// In all types a stamp is of the time-stamp counter, or of that counter less the cycles that the thread was off its
// processor: readers divide by the counter's rate, and compare times with the header's stamps. A clock of another unit
// would have to be brought to cycles of the counter before it is kept.

#ifndef LIBPROF_PROFILE_TYPE_H
#define LIBPROF_PROFILE_TYPE_H

#include "libprof/format/format.h"

namespace libprof {

// The values of PROFTYPE, the default first.
struct TypeName {
  char name[12];
  prof_format::Type type;
};
inline constexpr TypeName kTypeNames[] = {{"time", prof_format::kTime},     {"elapsed", prof_format::kElapsed},
                                          {"cpu", prof_format::kCpu},       {"adaptive", prof_format::kAdaptive},
                                          {"sample", prof_format::kSample}, {"count", prof_format::kCount}};
// What is said of another value.
inline constexpr char kUnknownType[] =
    ": is not supported; use time, elapsed, cpu, adaptive, sample or count; time is used";
// What prof run gives to a program whose samples it takes itself. What has hooks there, children too, is as by default.
inline constexpr char kSampledFromOutside[] = "auto";
inline constexpr prof_format::Type kDefaultType = kTypeNames[0].type;

extern uint32_t profile_type;  // enum prof_format::Type, fixed when the process begins
extern uint32_t hooks_leave;   // of kAddresses: not 0 if there are hooks besides, which take durations (leaving.cc)

// Whether hooks take the time: nodes hold it, or at least durations are taken.
inline bool is_timed() {
  return profile_type == prof_format::kTime || profile_type == prof_format::kElapsed ||
         profile_type == prof_format::kCpu || hooks_leave;
}

// Whether some calls only are timed, and nodes hold sums over these.
inline bool is_adaptive() { return profile_type == prof_format::kAdaptive; }

// Whether times are those of samples (sampling.cc).
inline bool is_sampled() { return profile_type == prof_format::kSample || profile_type == prof_format::kAddresses; }

// Whether hooks need the time-stamp counter at all.
inline bool takes_stamps() { return is_timed() || is_adaptive(); }

// Whether stamps are of the threads' own clocks (cpu_clock.h), and not of the counter.
inline bool uses_cpu_clock() {
  return profile_type == prof_format::kTime || profile_type == prof_format::kCpu ||
         profile_type == prof_format::kAdaptive;
}

// Whether what a thread waits is given to nodes.
inline bool is_waiting_timed() { return profile_type == prof_format::kTime || profile_type == prof_format::kCpu; }

}  // namespace libprof

#endif
