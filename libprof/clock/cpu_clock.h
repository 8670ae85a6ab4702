// The thread's own clock: cycles that it was on a processor.

#ifndef LIBPROF_CPU_CLOCK_H
#define LIBPROF_CPU_CLOCK_H

#include "libprof/data/state.h"
#include "libprof/profile_type.h"

namespace libprof {

// For the clocks of all threads of a process, before any of them begins. A heavy path.
void begin_clocks();

// Begins the clock of the calling thread, whose state `s` is. Its first stamp is State::tsc_at_start. False if there is
// no memory. A heavy path.
bool begin_cpu_clock(State* s);

// A time stamp less the cycles that the calling thread was not on a processor since its clock began. If it has been off
// its processor, what it waited is given to the node that is running.
uint64_t cpu_stamp(State* s);
// The same for a stamp of the counter that was taken a few instructions ago.
uint64_t cpu_stamp_of(State* s, uint64_t tsc);
// The same, and the kernel is asked in any case.
uint64_t exact_cpu_stamp(State* s);

// A stamp on the clock of another thread of this process, of now; 0 if it has ended or the kernel does not tell.
uint64_t cpu_stamp_of_other(State* s);

}  // namespace libprof

#endif
