// The slow paths of entering and leaving: hooks.S explains what a frame is, shadow_stack.cc has the rules.

#ifndef LIBPROF_SHADOW_STACK_H
#define LIBPROF_SHADOW_STACK_H

#include "libprof/data/state.h"

namespace libprof {

// Lets the top frame be the one with that slot, on whichever stack it is; what is below it is gone. False if there is
// none.
bool find_own_frame(State* s, uint64_t slot, uint64_t now);

// The entry above the top, in the next chunk if necessary, to be filled; null if there is no room. `slot`: of the
// frame.
Frame* next_entry(State* s, uint64_t slot);

// Pops the top frame f, whose slot was `found` when it was read.
void pop(State* s, Frame* f, uint64_t found, uint64_t now, uint64_t exit = 0);

// What the hooks do when the fast path does not suffice, in a thread that has begun. `slot`, `pc` and `now`: see
// hooks.S.
void enter(State* s, uint64_t slot, uint64_t pc);
void leave(State* s, uint64_t slot, uint64_t now);

// The call, instead of enter, of a handler that interrupted a heavy path, on the private stack: it is counted without a
// frame.
void enter_while_busy(State* s, uint64_t pc);

}  // namespace libprof

#endif
