// Whose time it was: what hooks and slow paths give to nodes (hooks.S).

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

// What the thread ran since that stamp, to which time was given, nobody gets: it was the runtime's. `away`: State::away then.
void skip_time(State* s, uint64_t since, uint64_t away);

// The time up to which time is given: a stamp of the counter or of the thread's own clock; 0 if the type takes none.
inline uint64_t stamp(State* s) {
  if (!takes_stamps()) return 0;
  if (load(&tsc_stopped_at)) return load(&s->thread->last_tsc);
  return uses_cpu_clock() ? cpu_stamp(s) : time_stamp();
}

}  // namespace libprof

#endif
