#include "times.h"

namespace libprof {

void give_time_to(State* s, Node* node, uint64_t now) {
  const uint64_t last = load(&s->thread->last_tsc);
  if (now < last) {
    if (uses_cpu_clock()) return;
    now = stamp(s);
    if (int64_t(last - now) < SMALLEST_SETBACK) return;
  }
  // If a handler has been here meanwhile, its hooks have given the time to the nodes that ran.
  if (exchange_if(&s->thread->last_tsc, last, now) && now > last) add(&node->cycles, now - last);
}

void skip_time(State* s, uint64_t since, uint64_t away) {
  if (!is_timed()) return;
  const uint64_t last = load(&s->thread->last_tsc), now = stamp(s);
  // If the kernel was asked meanwhile, the stamps are not of one clock. If a handler was here, little is left to skip.
  if (load(&s->away) != away || last < since || now <= last) return;
  if (exchange_if(&s->thread->last_tsc, last, now)) add(&node_at(s, s->root)->own_cycles, now - last);
}

}  // namespace libprof
