// Threads: their states, as they begin; and what a forked child gets from its parent's recording, and how it gets rid
// of it. See threads.cc.

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

// Whether s, the state of this thread, is one that fork wiped.
bool is_of_parent(State* s);

// Makes such a state s harmless, so that hooks which the forking signal handler interrupted can go on; and takes it off
// the thread, which begins anew with its next call. A heavy path.
void leave_parent(State* s);

}  // namespace libprof

#endif
