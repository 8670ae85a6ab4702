// Tail calls: see tail_calls.cc.

#ifndef LIBPROF_TAIL_CALLS_H
#define LIBPROF_TAIL_CALLS_H

#include "state.h"

namespace libprof {

// If the function with that hook was jumped to from one with the same slot, and its frame is there for it: counts the call
// and returns true. To be called by the slow path of entering, with a thread that has begun.
bool arrive_if_expected(State* s, uint64_t slot, uint64_t pc);

}  // namespace libprof

#endif
