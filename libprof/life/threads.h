// Threads: their states, as they begin.

#ifndef LIBPROF_THREADS_H
#define LIBPROF_THREADS_H

#include "libprof/data/state.h"

namespace libprof {

// Called by the first hook of a thread (and, after a fork, of a process) with the slot of the function that is being
// entered. Returns its state, ready to be used, or null if the thread is not recorded; the call is then counted as
// lost if there is a profile. Needs little stack.
State* begin_thread(uint64_t slot);

// If s was wiped by fork, the thread, in the child, gives it up.
void leave_wiped_state(State* s);

// Static programs: remembers that the initial thread has begun with a thread-local block of the runtime's own. Its
// state is carried over when libc's block takes over.
void mark_early(State* s);

}  // namespace libprof

#endif
