// How a thread sees that it has been off its processor, or may have been, since it last looked. See switches.cc.

#ifndef LIBPROF_SWITCHES_H
#define LIBPROF_SWITCHES_H

#include "libprof/data/state.h"

namespace libprof {

// Finds out, once for the process and by the thread that calls, what tells of switches here. A heavy path.
void look_for_signs();

// Whether nothing does: then hooks ask the kernel after each LONGEST_UNASKED cycles.
bool are_switches_unseen();

// Gives the calling thread, whose state `s` is, its sign, which says at first that it has been off its processor. False
// if there is no memory. A heavy path.
bool begin_sign(State* s);

// From now on a switch of the calling thread changes the sign. Returns what the sign is until then.
uint64_t watch_sign(State* s);

// Whether the calling thread may have been off its processor since State::expected was set. `stamp`: of its own clock,
// of now.
bool may_have_switched(State* s, uint64_t stamp);

// For a thread that cannot be told how long it was off: nothing is seen any more.
void stop_watching(State* s);

// In a forked child, for a hook of its parent's that goes on with the state `s`, see life/threads.cc. False if the page
// of the sign may be in other use by now.
bool leave_sign(State* s);

}  // namespace libprof

#endif
