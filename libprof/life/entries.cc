// Hooks, the code of records and the C library's fork come here first. The thread may not have begun, or be that of a forked
// child, which has its parent's state. What they want is done by others then (shadow_stack.cc, tail_calls.cc, trace.cc, fork.cc),
// who need not know how threads begin: to begin one takes all the rest of the runtime.

#include "entries.h"

#include "fork.h"
#include "libprof/clock/times.h"
#include "libprof/file/block_counters.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "libprof/profile_type.h"
#include "libprof/stack/shadow_stack.h"
#include "libprof/stack/tail_calls.h"
#include "libprof/trace/trace.h"
#include "namespaces.h"
#include "threads.h"

namespace libprof {

namespace {

// The calling thread's, which begins now if it has not.
State* begun(State* s, uint64_t slot) { return s && load(&s->top) != 0 && !s->is_left ? s : begin_thread(slot); }

// Another place for a record, see find_place.
uint64_t place_of(uint64_t place, uint64_t length) {
  if (const uint64_t in_sink = place_in_sink()) return in_sink;
  char here;
  return find_place(begun(get_state(), as_word(&here)), place, length);
}

void begin_child() {
  if (State* s = get_state()) leave_wiped_state(s);
  leave_block_counters_of_parent();
  leave_trace_of_parent();
  char here;
  // There may be no hook that would.
  if (profile_type == prof_format::kAddresses || has_block_counters() || has_shared_counters() || has_trace())
    begin_thread(as_word(&here));
}

}  // namespace

// The hooks, when the fast path does not suffice: see hooks.S, also for `slot`, `pc` and `now`. s may be null, and its top may
// be 0: then this is the first hook of a thread or, after a fork, of a process.
extern "C" [[gnu::visibility("hidden")]] void enter_slow(State* s, uint64_t slot, uint64_t pc) {
  s = begun(s, slot);
  if (!s) return;
  if (s->is_busy) return enter_while_busy(s, pc);
  if (!arrive_if_expected(s, slot, pc)) enter(s, slot, pc);
}

extern "C" [[gnu::visibility("hidden")]] void leave_slow(State* s, uint64_t slot, uint64_t now) {
  if (load(&s->top) == 0) leave_wiped_state(s);
  if (load(&s->top) != 0 && !s->is_left) leave(s, slot, now);
}

// Before a jump after the enter hook of another function. `jump`: the instruction. When anything is not as it should be, the
// function jumped to is entered as if it had been called.
extern "C" [[gnu::visibility("hidden")]] void tail_slow(State* s, uint64_t slot, const uint8_t* jump) {
  if (!has_stack(s) || !jump_to_known(s, slot, jump)) enter_slow(s, slot, end_of_jump_to_known(jump));
}

// Before a jump that leads to the hook with that pc, or to none (find_end_of_jump).
extern "C" [[gnu::visibility("hidden")]] void jump_slow(State* s, uint64_t slot, uint64_t pc) {
  if (!has_stack(s)) return leave_slow(s, slot, 0);
  const uint64_t now = stamp(s);
  if (!jump_to_sought(s, slot, pc, now)) leave_slow(s, slot, now);
}

// Called by the code of a record that came upon another one while it took its place, or whose place is not in front of the
// limit. `end`: of the place that it found; to be changed if that is none. `length`: of the record, in bytes.
extern "C" [[gnu::visibility("hidden")]] void trace_full(uint64_t* end, uint64_t length) {
  if (distance_to_first != 0) return in_first(trace_full)(end, length);
  *end = place_of(*end - length, length) + length;
}

// The same for programs that an older profld has rewritten, which give the place. They take it in one instruction, so it is
// the one that they know.
extern "C" [[gnu::visibility("hidden")]] void trace_full_at(uint64_t* place, uint64_t length) {
  if (distance_to_first != 0) return in_first(trace_full_at)(place, length);
  *place = place_of(*place, length);
}

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int __register_atfork(void (*prepare)(),
                                                                                       void (*parent)(),
                                                                                       void (*child)(), void* library);

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int pthread_atfork(void (*prepare)(), void (*parent)(),
                                                                                    void (*child)());

// The program's syscall with the number of fork, or of clone without memory or a stack of its own.
extern "C" [[gnu::visibility("hidden")]] int64_t watched_fork(int64_t number, uint64_t a, uint64_t b, uint64_t c,
                                                              uint64_t d, uint64_t e) {
  const int64_t result = unchecked_syscall(number, a, b, c, d, e, 0);
  if (result == 0) in_first(begin_child)();
  return result;
}

void watch_forks() {
  if (auto* of_glibc = library_function("__register_atfork", __register_atfork)) {
    of_glibc(nullptr, nullptr, in_first(begin_child), nullptr);
  } else if (auto* of_musl = library_function("pthread_atfork", pthread_atfork)) {
    of_musl(nullptr, nullptr, in_first(begin_child));
  }
}

}  // namespace libprof
