// Tail calls: see tail_calls.cc.

#ifndef LIBPROF_TAIL_CALLS_H
#define LIBPROF_TAIL_CALLS_H

#include "libprof/data/state.h"

namespace libprof {

// Whether a thread has begun that has a shadow stack at hand: not in a handler that interrupted a heavy path.
inline bool has_stack(const State* s) { return s && load(&s->top) != 0 && !s->is_left && !s->is_busy; }

// Where a jump after the enter hook of another function leads.
uint64_t end_of_jump_to_known(const uint8_t* jump);

// Before such a jump: counts the call of the function jumped to, whose frame is there then. False, with nothing done,
// if the function that jumps has none.
bool jump_to_known(State* s, uint64_t slot, const uint8_t* jump);

// The same before a jump that was found to lead to the hook with that pc; 0 if it leads to none. The call is counted
// when the hook comes.
bool jump_to_sought(State* s, uint64_t slot, uint64_t pc, uint64_t now);

// If the function with that hook was jumped to from one with the same slot, and its frame is there for it: counts the
// call and returns true. To be called before enter.
bool arrive_if_expected(State* s, uint64_t slot, uint64_t pc);

}  // namespace libprof

#endif
