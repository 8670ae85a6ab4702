// The slow paths of entering and leaving: hooks.S explains what a frame is, shadow_stack.cc has the rules.

#ifndef LIBPROF_SHADOW_STACK_H
#define LIBPROF_SHADOW_STACK_H

#include "state.h"

namespace libprof {

// Lets the top frame be the one with that slot, on whichever stack it is; what is below it is gone. False if there is none.
bool find_own_frame(State* s, uint64_t slot, uint64_t now);

// The entry above the top, in the next chunk if necessary, to be filled; null if there is no room. `slot`: of the frame.
Frame* next_entry(State* s, uint64_t slot);

// Pops the top frame f, whose slot was `found` when it was read.
void pop(State* s, Frame* f, uint64_t found, uint64_t now);

// The hooks, when the fast path does not suffice: see hooks.S.
extern "C" void enter_slow(State* s, uint64_t slot, uint64_t pc);
extern "C" void leave_slow(State* s, uint64_t slot, uint64_t now);

}  // namespace libprof

#endif
