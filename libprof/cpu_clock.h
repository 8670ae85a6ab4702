// PROFTYPE=cpu: cycles that the thread was on a processor.

#ifndef LIBPROF_CPU_CLOCK_H
#define LIBPROF_CPU_CLOCK_H

#include "state.h"

namespace libprof {

inline bool is_cpu_timed() { return profile_type == prof_format::kCpu; }

// False, and the reason has been said, if the kernel does not tell of switches. A heavy path.
bool check_cpu_clock();

// Begins the clock of the calling thread, whose state `s` is. Its first stamp is State::tsc_at_start. False if there is
// no memory. A heavy path.
bool begin_cpu_clock(State* s);

// A time stamp less the cycles that the calling thread was not on a processor since its clock began.
uint64_t cpu_stamp(State* s);

// In a forked child, for a hook of its parent's that goes on with the state `s`, see fork.cc. False if the clock's
// page may be in other use by now.
bool leave_cpu_clock(State* s);

}  // namespace libprof

#endif
