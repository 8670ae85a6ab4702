// Time on a processor, for the price of a time stamp.
//
// The problem. The time-stamp counter goes on while the thread waits or another one has the processor. The kernel knows
// how long a thread ran (CLOCK_THREAD_CPUTIME_ID), but asking it costs twenty times what a hook does.
//
// The way taken. As long as the thread stays on its processor, the counter alone tells the time that goes by. When it
// has been off, which it sees by its sign (switches.cc), the kernel is asked, once:
//
//     stamp = counter - away           away = counter - (thread's time, in cycles), as of the last switch
//
// A hook takes the counter first, looks at the sign then, and subtracts `away` last. A switch before it looks at the
// sign is seen. One that comes later, with a handler whose hooks set `away` anew, makes the stamp too early, never too
// late, and for a stamp earlier than the thread's last one there is no time to give (hooks.S).
//
// Asking is a race with switches, too. The sign is armed before the kernel is asked, so that a switch after that is
// seen by the next hook. Signals are blocked meanwhile: a handler might leave by siglongjmp, or call more new functions
// than there are spare nodes (tree.h). Some cannot be blocked (syscall.h), and if the hooks of such a handler ask as
// well, they set `away` before us: it is exchanged only if it is what it was before.
//
// What `away` grows by was waited by the code that ran last. Why, the kernel's counts of switches tell: if the thread
// gave up its processor of its own wish at least once, it waited for something; else it was preempted.
//
// Cycles per nanosecond are those of the counter and CLOCK_MONOTONIC since the process began. Their error is that of
// one reading of a clock, however long ago that was. (CLOCK_MONOTONIC_RAW, which readers use, is refused by some
// filters.) If the thread loses its processor between the readings, that is no small error: so readings that took long
// are made again.
//
// When too little time has gone by for a switch, it was a signal that changed the sign, and nothing is asked. Nor is
// anything asked by a handler that comes while the runtime makes a system call: it may be that of SIGSYS, because a
// filter of which the runtime does not know refuses the call, and a second SIGSYS in it would be the end.
//
// A kernel that does not answer (a filter for system calls) is not asked again: from there on the thread's clock is the
// counter less what it was away before, and the header says so (kWaitsUnseen).

#include "cpu_clock.h"

#include "libprof/data/frames.h"
#include "libprof/kernel/syscall.h"
#include "switches.h"
#include "tsc.h"

namespace libprof {

namespace {

constexpr uint64_t kClockThread = 3;  // CLOCK_THREAD_CPUTIME_ID
constexpr uint64_t kUsageOfThread = 1;
constexpr uint64_t kClockMonotonic = 1;
constexpr int kMaxTries = 4;                   // of asking, when handlers come in between
constexpr uint64_t kShortestSwitch = 4096;     // cycles: no thread is taken off its processor and put back in less
constexpr uint64_t kLongestReading = 1 << 17;  // cycles: readings that took longer are of different moments
// So many hooks in a row may find that the thread is asking already. If more do, a handler has left the asking by
// siglongjmp. How long it takes says nothing: the thread may lose its processor for as long as it likes.
constexpr uint64_t kMaxRefusals = 1 << 16;

Stamps at_start;  // of CLOCK_MONOTONIC, near the start of this process; children take them anew

// The clock of a thread by its number, as in linux/posix-timers_types.h: CPUCLOCK_SCHED of a thread.
uint64_t clock_of(int32_t tid) { return uint64_t(int64_t(int32_t(~uint32_t(tid) << 3 | 6))); }

// a * b / c, for a <= c.
uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low, high, quotient;
  asm("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
  asm("divq %4" : "=a"(quotient), "=d"(high) : "a"(low), "d"(high), "r"(c) : "cc");
  return quotient;
}

[[gnu::noinline]] void read_clocks(uint64_t clock_of_thread, ClockReading* r) {
  const uint64_t before = time_stamp();
  r->cpu = clock(clock_of_thread);
  r->now = before + (time_stamp() - before) / 2;
  r->ns = r->cpu != 0 ? clock(kClockMonotonic) : 0;
  r->is_of_one_moment = time_stamp() - before <= kLongestReading;
}

// The stamp on the thread's clock at that moment; 0 if it cannot be told.
uint64_t stamp_of(State* s, const ClockReading& r) {
  if (r.cpu == 0 || r.ns <= at_start.ns || r.now <= at_start.tsc) return 0;
  const uint64_t ns_gone = r.ns - at_start.ns, ran = r.cpu - s->cpu_at_start;
  return s->tsc_at_start + scale(ran < ns_gone ? ran : ns_gone, r.now - at_start.tsc, ns_gone);
}

// Gives what the thread was away, and nobody was given yet, to the node that is running.
[[gnu::noinline]] void give_waiting(State* s, uint64_t away) {
  const uint64_t given = load(&s->waiting_given);
  // A thread that was never off its processor may seem to have been away for less than nothing: clocks have errors.
  if (int64_t(away - given) <= 0 || !exchange_if(&s->waiting_given, given, away)) return;
  store(&s->thread->away, away);
  Usage& usage = s->usage;
  const bool is_known = syscall4(__NR_getrusage, kUsageOfThread, as_word(&usage)) == 0;
  const bool has_blocked = !is_known || usage.voluntary_switches != load(&s->blocked);
  if (is_known) {
    add(&s->thread->blocked, usage.voluntary_switches - load(&s->blocked));
    add(&s->thread->preempted, usage.involuntary_switches - load(&s->preempted));
    store(&s->blocked, usage.voluntary_switches);
    store(&s->preempted, usage.involuntary_switches);
  }
  if (!is_waiting_timed()) return;
  Node* node = node_at(s, load(&current_frame(s)->node));
  // No switch of either kind: interrupts, or the host of a virtual machine, took the time. It counts as preempted.
  const bool is_preempted = !has_blocked;
  add(is_preempted ? &node->preempted_cycles : &node->blocked_cycles, away - given);
}

void give_up(State* s) {
  stop_watching(s);
  __atomic_fetch_or(&at<Header>(s->base, 0)->flags, prof_format::kWaitsUnseen, __ATOMIC_RELAXED);
}

// If only a signal changed the sign: arms it again without asking, and sets *stamp to the stamp that showed it. A later
// stamp would not do, since the thread may lose its processor in between.
bool was_signal(State* s, uint64_t* stamp) {
  const uint64_t sign = watch_sign(s);
  *stamp = time_stamp() - load(&s->away);
  if (*stamp - load(&s->thread->last_tsc) >= kShortestSwitch) return false;
  store(&s->expected, sign);
  return true;
}

uint64_t ask_kernel(State* s) {
  for (int i = 0; i < kMaxTries; ++i) {
    const uint64_t away_before = load(&s->away), sign = watch_sign(s);
    ClockReading& reading = s->reading;
    read_clocks(kClockThread, &reading);
    if (reading.ns == 0) {
      give_up(s);
      break;
    }
    if (!reading.is_of_one_moment && i + 1 < kMaxTries) continue;
    const uint64_t stamp = stamp_of(s, reading);
    if (stamp == 0) return load(&s->thread->last_tsc);
    const uint64_t away = reading.now - stamp;
    if (!exchange_if(&s->away, away_before, away)) continue;
    store(&s->expected, sign);
    give_waiting(s, away);
    return stamp;
  }
  return time_stamp() - load(&s->away);
}

// Hooks of a handler that interrupts a system call of the runtime make none: see run_heavy. Such a handler may be on a
// stack of its own above ours, so it is told by `asked` as well. What the thread may have waited is not known then: its
// time goes to the hooks that ask again.
uint64_t ask(State* s) {
  const uint64_t here = as_word(__builtin_frame_address(0)), asked = load(&s->asked);
  if (asked != 0) store(&s->asked, asked + 1);
  const bool is_asking = asked != 0 && asked < kMaxRefusals;
  if (is_asking || s->is_busy || here < load(&s->entering_at))
    return is_timed() ? load(&s->thread->last_tsc) : time_stamp() - load(&s->away);
  store(&s->asked, uint64_t(1));
  store(&s->entering_at, here);
  uint64_t mask;
  const bool are_blocked = block_signals(&mask);
  const uint64_t stamp = ask_kernel(s);
  store(&s->entering_at, uint64_t(0));
  store(&s->asked, uint64_t(0));
  if (are_blocked) restore_signals(mask);
  return stamp;
}

}  // namespace

void begin_clocks() { at_start = stamps_of_one_moment(kClockMonotonic); }

bool begin_cpu_clock(State* s) {
  if (!begin_sign(s)) return false;
  s->tsc_at_start = time_stamp_if_readable();  // the thread may have inherited that it is not
  s->cpu_at_start = clock(kClockThread);
  s->away = s->waiting_given = 0;
  Usage usage = {};
  syscall4(__NR_getrusage, kUsageOfThread, as_word(&usage));
  s->blocked = usage.voluntary_switches;
  s->preempted = usage.involuntary_switches;
  return true;
}

uint64_t cpu_stamp_of(State* s, uint64_t tsc) {
  const uint64_t stamp = tsc - load(&s->away);
  if (!may_have_switched(s, stamp)) return stamp;
  uint64_t now;
  return was_signal(s, &now) ? now : ask(s);
}

uint64_t cpu_stamp(State* s) { return cpu_stamp_of(s, time_stamp()); }

uint64_t exact_cpu_stamp(State* s) { return ask(s); }

uint64_t cpu_stamp_of_other(State* s) {
  ClockReading reading = {};
  for (int i = 0; i < kMaxTries && !reading.is_of_one_moment; ++i) read_clocks(clock_of(s->tid), &reading);
  return stamp_of(s, reading);
}

}  // namespace libprof
