// Which stack a frame is on. A thread has its own stack, perhaps a stack for signal handlers, perhaps coroutines; each
// has a list of frame chunks of its own, because slots can only be compared within one stack. See stack_switch.cc.

#ifndef LIBPROF_STACK_SWITCH_H
#define LIBPROF_STACK_SWITCH_H

#include "libprof/data/state.h"

namespace libprof {

// `slot` is that of a function that is being entered. Makes s->top refer to the stack that
// the slot lies on. False if there is no room for another stack. A slow path.
bool settle_on_stack(State* s, uint64_t slot, uint64_t now);

// Takes frames below `slot` that may belong to another stack off the stack that the thread is on, and keeps them. A
// slow path.
void detach_frames(State* s, uint64_t slot, uint64_t now);

// For a function that is being left, if its frame is not on the thread's current stack: changes to the known stack that
// contains the slot. False if there is none. A slow path.
bool find_stack_of_frame(State* s, uint64_t slot, uint64_t now);

// When `base` is the base of a signal stack: the handler returns to the code it interrupted.
void leave_signal_stack(State* s, Frame* base);

}  // namespace libprof

#endif
