// Which threads increment the same counters of profld -b: see shared_counters.cc.

#ifndef LINKER_REWRITE_DECIDE_SHARED_COUNTERS_H
#define LINKER_REWRITE_DECIDE_SHARED_COUNTERS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// The instruction that increments a counter.
enum class Increment : uint8_t {
  of_thread,         // incq %gs:counter(%rip): a thread has counters of its own
  of_thread_locked,  // lock incq %gs:counter(%rip): others may have the same
  of_process,        // lock incq counter(%rip): all threads have the same
};

// The cheapest that loses nothing. `has_hooks`: of the copy. `runtime_begins_threads`: its runtime has the program's new
// threads begin with itself.
Increment choose_increment(const Program& program, bool has_hooks, bool runtime_begins_threads);

// Of a copy without hooks: whether two threads may have what belongs to one of them.
bool may_share_counters(const Program& program, bool runtime_begins_threads);

}  // namespace profld

#endif
