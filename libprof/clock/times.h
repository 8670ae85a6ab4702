// Whose time it was: what hooks and slow paths give to nodes (hooks.S), and with PROFTYPE=adaptive to calls.

#ifndef LIBPROF_TIMES_H
#define LIBPROF_TIMES_H

#include "cpu_clock.h"
#include "libprof/data/state.h"
#include "libprof/profile_type.h"
#include "tsc.h"

namespace libprof {

// Gives a node the thread's time up to the stamp `now`, as hooks.S does; nothing if nodes hold no times.
void give_time_to(State* s, Node* node, uint64_t now);
inline void give_time(State* s, Node* node, uint64_t now) {
  if (is_timed()) give_time_to(s, node, now);
}

// What the thread ran since that stamp, to which time was given, nobody gets: it was the runtime's. `away`: State::away
// then.
void skip_time(State* s, uint64_t since, uint64_t away);

// The time up to which time is given: a stamp of the counter or of the thread's own clock; 0 if the type takes none.
inline uint64_t stamp(State* s) {
  if (!takes_stamps()) return 0;
  if (load(&tsc_stopped_at)) return load(&s->thread->last_tsc);
  return uses_cpu_clock() ? cpu_stamp(s) : time_stamp();
}

// PROFTYPE=adaptive: all calls are counted, some are timed. See format.h for what is kept of them.

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
