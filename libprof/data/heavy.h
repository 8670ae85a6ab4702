// The way from slow paths to heavy ones (state.h), and what these lock.

#ifndef LIBPROF_HEAVY_H
#define LIBPROF_HEAVY_H

#include "state.h"

namespace libprof {

// Runs function(s, argument) on the thread's private stack with all signals blocked, and returns its result; 0, as if
// there were no room, in a state that a forked child has left (life/threads.h).
uint64_t run_heavy(State* s, uint64_t (*function)(State*, uint64_t), uint64_t argument);

// Set before the first thread locks that may find another's State as its own: both have one thread pointer.
extern uint32_t has_strangers;

// The lock of the process; only for heavy paths, since signals must be blocked. It is taken from a thread that has
// ended.
void lock(uint32_t* word);
void unlock(uint32_t* word);

}  // namespace libprof

#endif
