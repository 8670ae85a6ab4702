// What a program does with threads, as far as the runtime has to know: whether it uses the segment registers gs, by
// which threads find what the runtime has for them, and fs, the thread pointer; and which threads increment the same
// counters of profld -b. See threads.cc.

#ifndef LINKER_REWRITE_DECIDE_THREADS_H
#define LINKER_REWRITE_DECIDE_THREADS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Whether an instruction of the program uses gs, or it imports the function that sets the base of gs: then the
// instructions may be in code that is made at run time.
bool uses_gs(const Program& program);

// Whether a static program may set its thread pointer by rules of its own: see threads.cc.
bool is_thread_pointer_doubtful(const Program& program);

// The instruction that increments a counter.
enum class Increment : uint8_t {
  of_thread,         // incq %gs:counter(%rip): a thread has counters of its own
  of_thread_locked,  // lock incq %gs:counter(%rip): others may have the same
  of_process,        // lock incq counter(%rip): all threads have the same
  of_process_alone,  // incq counter(%rip): the same, of the only thread; the runtime changes it for several
};

inline bool is_locked(Increment i) { return i == Increment::of_thread_locked || i == Increment::of_process; }

// Of a static program: finds all system calls that may make threads or processes (Group::task_calls). After them the
// copy lets the runtime begin what they made. False, and none are listed, if there may be others, and if the program
// uses gs. To be called when it is final which groups move.
bool select_task_calls(Program& program);

// The cheapest that loses nothing. `has_hooks`: of the copy. `runtime_begins_threads`: its runtime gets control first
// in each new thread.
Increment choose_increment(const Program& program, bool has_hooks, bool runtime_begins_threads);

// Of a copy without hooks: whether two threads may increment the same counters.
bool may_share_counters(const Program& program, bool runtime_begins_threads);

// IncrementsHeader.flags (libprof/format/blocks.h) of a copy without hooks.
uint32_t increments_flags(const Program& program, Increment increment);

}  // namespace profld

#endif
