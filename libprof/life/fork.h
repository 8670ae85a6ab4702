// What a forked child gets from its parent's recording, and how it gets rid of it. See fork.cc.

#ifndef LIBPROF_FORK_H
#define LIBPROF_FORK_H

#include "libprof/data/state.h"

namespace libprof {

// Whether s, the state of this thread, is one that fork wiped.
bool is_of_parent(State* s);

// Makes such a state s harmless, so that hooks which the forking signal handler interrupted can go on; and takes it off
// the thread, which begins anew with its next call. A heavy path.
void leave_parent(State* s);

}  // namespace libprof

#endif
