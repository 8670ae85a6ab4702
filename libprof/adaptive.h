// PROFTYPE=adaptive: all calls are counted, some are timed. See format.h for what is kept of them.

#ifndef LIBPROF_ADAPTIVE_H
#define LIBPROF_ADAPTIVE_H

#include "state.h"

namespace libprof {

inline bool is_adaptive() { return profile_type == prof_format::kAdaptive; }

// To be called before a call is counted, with its frame, which has its node and flags but no slot yet. If the call is
// due to be timed, chooses which one is next, gives the frame the weight that makes it a timed one, and stamps its
// start.
extern "C" void time_call(State* s, Frame* f);

// Adds the call of a frame that is about to go to its node's sums, if it was timed and that was not done yet.
void record_call(State* s, Frame* f, uint64_t now);

// The same for all calls that an ended thread, whose state is about to be used again, had not returned from.
void record_open_calls(State* s);

// The thread comes back to a stack: if that is a coroutine's, what it did elsewhere meanwhile is taken out of its
// calls.
void resume_calls(State* s, FrameChunk* stack, uint64_t now);

}  // namespace libprof

#endif
