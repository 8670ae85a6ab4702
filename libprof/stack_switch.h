// Which stack a frame is on. A thread has its own stack, perhaps a stack for signal handlers, perhaps coroutines; each
// has a list of frame chunks of its own, because slots can only be compared within one stack. See stack_switch.cc.

#ifndef LIBPROF_STACK_SWITCH_H
#define LIBPROF_STACK_SWITCH_H

#include "state.h"

namespace libprof {

// Makes the stack that `slot`, that of a function being entered, whose hook returns to `pc`, lies on the one that
// s->top refers to. False if there is no room for another stack. A slow path.
bool settle_on_stack(State* s, uint64_t slot, uint64_t pc, uint64_t now);

// Frames below `slot` that may be those of another stack are taken off the one that the thread is on, and kept. A slow
// path.
void detach_frames(State* s, uint64_t slot, uint64_t now);

// For a function that leaves, whose frame is not on the stack that the thread is on: changes to the known stack that
// contains the slot. False if there is none. A slow path.
bool find_stack_of_frame(State* s, uint64_t slot, uint64_t now);

// When `base` is the base of a signal stack: the handler returns to the code it interrupted.
void leave_signal_stack(State* s, Frame* base);

// Heavy paths for run_heavy. Both return 0 if there is no room.
uint64_t add_chunk(State* s, uint64_t chunk);                      // after the FrameChunk at that address
bool begin_thread_stack(State* s, uint64_t slot, bool is_reused);  // the first stack of a thread, entered at `slot`

}  // namespace libprof

#endif
