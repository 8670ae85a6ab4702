// The slow paths of entering and leaving: hooks.S explains what a frame is, shadow_stack.cc has the rules.

#ifndef LIBPROF_SHADOW_STACK_H
#define LIBPROF_SHADOW_STACK_H

#include "cpu_clock.h"
#include "frames.h"
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

// What the thread ran since that stamp, to which time was given, nobody gets: it was the runtime's. `away`: State::away then.
void skip_time(State* s, uint64_t since, uint64_t away);

// The time up to which time is given: a stamp of the counter or of the thread's own clock; 0 if the type takes none.
inline uint64_t stamp(State* s) {
  if (!takes_stamps()) return 0;
  if (load(&tsc_stopped_at)) return load(&s->thread->last_tsc);
  return uses_cpu_clock() ? cpu_stamp(s) : time_stamp();
}

// The frame that f, the first of a further chunk, stands for; else f.
Frame* original_of(State* s, Frame* f);

// Lets the top frame be the one with that slot, on whichever stack it is; what is below it is gone. False if there is none.
bool find_own_frame(State* s, uint64_t slot, uint64_t now);

// The entry above the top, in the next chunk if necessary, to be filled; null if there is no room. `slot`: of the frame.
Frame* next_entry(State* s, uint64_t slot);

// Pops the top frame f, whose slot was `found` when it was read.
void pop(State* s, Frame* f, uint64_t found, uint64_t now);

// The hooks, when the fast path does not suffice: see hooks.S.
extern "C" void enter_slow(State* s, uint64_t slot, uint64_t pc);
extern "C" void leave_slow(State* s, uint64_t slot, uint64_t now);

// Puts the base frame of a stack: it stands for the code that calls profiled code from around `slot`.
void set_base(Frame* f, uint64_t slot, Block node);

inline uint64_t slot_of(const Frame* f) { return load(&f->slot) & ~kSlotTag; }

}  // namespace libprof

#endif
