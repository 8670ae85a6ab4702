// The slow paths of entering and leaving: hooks.S explains what a frame is, shadow_stack.cc has the rules.

#ifndef LIBPROF_SHADOW_STACK_H
#define LIBPROF_SHADOW_STACK_H

#include "profile_type.h"
#include "state.h"

namespace libprof {

// The frame below; null below a base.
Frame* frame_below(State* s, Frame* f);

// The frame, or the nearest below it that has a slot.
Frame* with_slot(State* s, Frame* f);

// The topmost frame that has a slot.
Frame* current_frame(State* s);

// Gives a node the thread's time up to the stamp `now`, as hooks.S does; nothing if nodes hold no times.
void give_time(State* s, Node* node, uint64_t now);

// Puts the base frame of a stack: it stands for the code that calls profiled code from around `slot`.
void set_base(Frame* f, uint64_t slot, Block node);

inline uint64_t slot_of(const Frame* f) { return load(&f->slot) & ~kSlotTag; }

}  // namespace libprof

#endif
