// PROFTYPE=adaptive: all calls are counted, some are timed. See format.h for what is kept of them.

#ifndef LIBPROF_ADAPTIVE_H
#define LIBPROF_ADAPTIVE_H

#include "libprof/data/state.h"
#include "libprof/profile_type.h"

namespace libprof {

// To be called before a call is counted, with its frame, which has its node and flags but no slot yet. If the call is
// to be timed, chooses the next one after it, gives the frame the weight that marks it as timed, and stamps its start.
extern "C" void time_call(State* s, Frame* f);

// The same for a tail call. It is part of a call of the node's parent, whatever frames there are below.
void time_tail_call(State* s, Frame* f);

// Adds the call of a frame that is about to go to its node's sums, if it was timed and that was not done yet.
void record_call(State* s, Frame* f, uint64_t now);

// The same for all open calls of an ended thread, whose state is about to be used again.
void record_open_calls(State* s);

// To be called when the thread comes back to a stack. If that is a coroutine's, takes the time that the thread spent
// elsewhere out of the coroutine's calls.
void resume_calls(State* s, FrameChunk* stack, uint64_t now);

}  // namespace libprof

#endif
