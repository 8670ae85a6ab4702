// Samples of a program that counts its calls.
//
// The problem. Hooks that take the time change what they measure: a function of a few cycles is the difference of two
// numbers ten times as large. Counting hooks are cheaper, but say nothing of time. So calls are counted, and each time
// a thread has had a processor for kSamplePeriod, it is looked at where it is: the node on top of its shadow stack gets
// the sample. What it does just then is one of four things, which the instruction pointer tells.
//
//   in the runtime    hooks, which the program without them does not have: left out, but counted for the thread
//   in the kernel     the time of a system call, at the node that made it
//   in a file that calls hooks    the node's own time (with that of functions without hooks that it called)
//   elsewhere         in a library, or in code made at run time, that the node called
//
// For the third kind the address is counted as well, in a histogram (format.h). Its nodes are made by a slow path, as
// those of calls are, which any handler of the program's may run at any moment, too.
//
// Way. A timer for each thread on its own CLOCK_THREAD_CPUTIME_ID, with a signal to that thread (SIGEV_THREAD_ID). It
// does not run while the thread waits. A signal that comes late stands for all expirations since the one before, which
// the kernel counts (si_overrun): that is its weight. On a busy machine many ticks of the kernel find another thread
// running, and weights of fifty are common; so the sum of their squares is kept, from which the error follows, and the
// number of signals. The first expiration is at a random moment of the period, so that short programs get as many
// samples as they should on average.
//
// Which signal. The program must not notice. A signal that it can name is not fit, even if it does nothing by default:
// the program may give it a handler, wait for all signals at once (sigwait, signalfd), or block it when system calls
// are to be interrupted by it. To stand before sigaction and its like would tell us of the first only, and changes
// every program. But C libraries keep signals for themselves: glibc 32 for pthread_cancel and 33 for setuid, musl 32 to
// 34. sigaction refuses them, sigfillset leaves them out, sigprocmask does not block them, debuggers pass them on
// silently. So we take one of these that nobody handles yet: 32 of glibc, else 33. (Children of posix_spawn, as make's
// are, have both ignored if their parent handled them; that is as good.) (musl puts 32 back to its default, which
// kills, when a program makes a timer with a thread.) What sigfillset leaves out tells which library it is. When a
// program calls pthread_cancel for the first time, glibc (2.34 and later) puts its own handler in the place of ours,
// and so does musl. glibc's ignores signals that tgkill did not send, musl's those for a thread that nobody cancels,
// and ours what is not of our timer. There are no samples from then on, and the profile says so. Older versions of
// glibc take both signals when threads are possible, and there are no samples at all.
//
// A static program cannot be asked what its C library keeps. If that keeps nothing and a loop puts all signals back to
// their defaults, the next 32 would kill the program. So there are no samples in static programs.
//
// The handler runs with all signals blocked but those that instructions raise, on the signal stack if there is one
// (SA_ONSTACK), calls nothing of the C library, and changes counters by one instruction each. It may interrupt a hook:
// then the top entry may have no slot yet, and the frame below is the node's that runs. Heavy paths have it blocked,
// and it comes when they end. A thread that begins with the signal blocked (one of glibc's or musl's own, which wait
// for it) gets no timer.
//
// The kernel. `syscall` puts the address after it into rcx, and so rcx is equal to the instruction pointer when a
// signal comes on the way out of one; or two bytes after, if the call is to be made again. No memory is read for that,
// because code need not be readable. A page fault is no system call: its time belongs to the code that it came upon.
// (Processors with FRED leave rcx alone: there, time in the kernel is in that of who made the call, most often a
// library.)
//
// System calls. From Linux 5.11 on the kernel sends the signals of such timers when the thread goes back to user code,
// so none is interrupted. Older kernels send them in their tick. Most calls are then made again (SA_RESTART); one that
// is about to sleep in poll or nanosleep just then returns EINTR.
//
// A program that gives up system calls (sandbox.cc) may give up the one by which a handler returns. So the timers rest
// while it does that, and go on only if that call was left, and the one that sets timers.
//
// Each timer takes one of the signals that the user may have queued (RLIMIT_SIGPENDING). We take at most half of these.
//
// Limits. A stack must have room for the kernel's signal frame, up to some 3 KiB with wide vector registers, as in any
// program that gets signals. A program that makes rt_sigaction or a filter of system calls by an instruction of its own
// is not seen: it can take the signal or its default away, or forbid itself to return from handlers.

#include "sampling.h"

#include <asm/sigcontext.h>
#include <linux/signal.h>

#include "libprof/data/frames.h"
#include "libprof/data/settings.h"
#include "libprof/file/modules.h"
#include "libprof/file/tree.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "namespaces.h"

namespace libprof {

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int sigfillset(uint64_t* set);

namespace {

constexpr uint64_t kClockThread = 3;     // CLOCK_THREAD_CPUTIME_ID
constexpr uint64_t kSystemCallSize = 2;  // bytes of `syscall`
constexpr uint64_t kLimitSignals = 11;   // RLIMIT_SIGPENDING

struct SignalContext {  // struct ucontext, as far as it is looked at
  uint64_t flags, link;
  stack_t stack;
  sigcontext registers;
};

struct TimerTimes {  // struct __kernel_itimerspec
  uint64_t period_seconds, period_nanoseconds, first_seconds, first_nanoseconds;
};

int sampling_signal;  // 0: none. Inherited by forked children, as the handler is.
uint64_t timers;      // how many there are in this process

extern "C" {
// The linker's: where the runtime lies; libc_calls.S: what of it the program has called in the place of its C library.
[[gnu::visibility("hidden")]] extern const char __ehdr_start[], etext[];
[[gnu::visibility("hidden")]] extern const char libc_calls_start[], libc_calls_end[];
[[gnu::visibility("hidden")]] void return_from_signal();
}

bool is_between(uint64_t address, const char* start, const char* end) {
  return address >= as_word(start) && address < as_word(end);
}

bool comes_from_kernel(const sigcontext& c) { return c.rcx == c.rip || c.rcx == c.rip + kSystemCallSize; }

uint64_t* hook_samples(State* s) { return hooks_leave ? &s->thread->hook_samples_apart : &s->thread->hook_samples; }
uint64_t* sample_signals(State* s) {
  return hooks_leave ? &s->thread->sample_signals_apart : &s->thread->sample_signals;
}

// What found no room is in the root.
void give_to_histogram(State* s, uint64_t address, uint64_t weight) {
  const Block block = find_or_make_address(s, address);
  Node* node = node_at(s, block ? block : s->thread->addresses);
  add(&node->samples, weight);
  add(&node->sample_squares, weight * weight);
}

bool is_in_hook(const sigcontext& c) {
  return is_between(c.rip, __ehdr_start, etext) && !is_between(c.rip, libc_calls_start, libc_calls_end);
}

// A sample of the thread that has the context c, which stands for `weight` of them.
void give_sample(State* s, const sigcontext& c, uint64_t weight) {
  if (is_in_hook(c)) return add(hook_samples(s), weight);
  Node* node = node_at(s, load(&current_frame(s)->node));
  add(&node->sample_squares, weight * weight);
  if (comes_from_kernel(c)) return add(&node->kernel_samples, weight);
  if (!is_in_listed_module(c.rip)) return add(&node->library_samples, weight);
  add(&node->samples, weight);
  give_to_histogram(s, c.rip, weight);
}

// The same for a program without hooks, of which addresses are recorded; or with hooks that leave.
void give_to_address(State* s, const sigcontext& c, uint64_t weight) {
  if (hooks_leave && is_in_hook(c)) return;
  const Block block = hooks_leave ? find_or_make_address(s, c.rip) : find_or_make_child(s, s->root, c.rip);
  if (block == 0) return add(hook_samples(s), weight);
  Node* node = node_at(s, block);
  add(comes_from_kernel(c) ? &node->kernel_samples : &node->samples, weight);
  add(&node->sample_squares, weight * weight);
}

// What the kernel calls.
void take_sample(int, const siginfo_t* info, const SignalContext* context) {
  State* s = get_state();
  if (!s || load(&s->top) == 0 || s->is_left || info->si_code != SI_TIMER || info->si_ptr != s) return;
  const int missed = info->si_overrun;
  add(sample_signals(s), 1);
  const uint64_t weight = 1 + uint64_t(missed > 0 ? missed : 0);
  if (profile_type == prof_format::kAddresses)
    give_to_address(s, context->registers, weight);
  else
    give_sample(s, context->registers, weight);
}

uint64_t own_handler() { return reinterpret_cast<uint64_t>(&take_sample); }

int64_t change_action(int number, const struct sigaction* now, struct sigaction* before) {
  return syscall4(__NR_rt_sigaction, uint64_t(number), as_word(now), as_word(before), sizeof(sigset_t));
}

// What the kernel says; `otherwise` if it does not.
uint64_t handler_of(int number, uint64_t otherwise) {
  struct sigaction found = {};
  return change_action(number, nullptr, &found) == 0 ? uint64_t(found.sa_handler) : otherwise;
}

constexpr uint64_t bit_of(int number) { return uint64_t(1) << (number - 1); }

// What sigfillset leaves out.
constexpr uint64_t kKeptByGlibc = bit_of(32) | bit_of(33), kKeptByMusl = kKeptByGlibc | bit_of(34);

// The signals that the C library keeps for itself, as far as is known.
uint64_t kept_signals() {
  uint64_t all[16] = {};  // as large as a C library's sigset_t
  auto* fill = library_function("sigfillset", sigfillset);
  return fill && fill(all) == 0 ? ~all[0] : 0;
}

bool take_signal(int number) {
  const uint64_t before = handler_of(number, own_handler() + 1);
  if (before == own_handler()) return true;
  if (before != uint64_t(SIG_DFL) && before != uint64_t(SIG_IGN)) return false;
  struct sigaction now = {};
  now.sa_handler = reinterpret_cast<__sighandler_t>(own_handler());
  now.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER;
  now.sa_restorer = return_from_signal;
  now.sa_mask =
      ~(bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGSEGV) | bit_of(SIGSYS));
  return change_action(number, &now, nullptr) == 0;
}

void note(prof_format::HeaderFlags flag) {
  __atomic_fetch_or(&at<Header>(process->base, 0)->flags, flag, __ATOMIC_RELAXED);
}

bool set_timer(State* s, const TimerTimes& times) {
  const int32_t timer = load(&s->timer);
  return timer != 0 && syscall4(__NR_timer_settime, uint64_t(timer - 1), 0, as_word(&times), 0) == 0;
}

// Whether the program has left itself the call by which handlers end.
bool may_return_from_signal() { return !is_sandboxed || may_call(__NR_rt_sigreturn, {0, 0, 0, 0, 0, 0}); }

bool delete_timer(State* s) {
  const int32_t timer = __atomic_exchange_n(&s->timer, 0, __ATOMIC_ACQ_REL);
  if (timer == 0) return false;
  __atomic_fetch_sub(&timers, 1, __ATOMIC_RELAXED);
  return syscall4(__NR_timer_delete, uint64_t(timer - 1)) == 0;
}

bool make_timer(State* s, int number) {
  sigevent event = {};
  event.sigev_value.sival_ptr = s;
  event.sigev_signo = number;
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = s->tid;
  int32_t id = -1;
  if (syscall4(__NR_timer_create, kClockThread, as_word(&event), as_word(&id)) != 0) return false;
  store(&s->timer, id + 1);
  return true;
}

// Begins the timer of the calling thread; false if it gets none.
bool start_timer(State* s, int number) {
  const uint64_t most = limit_of(kLimitSignals) / 2;
  if (__atomic_fetch_add(&timers, 1, __ATOMIC_RELAXED) < most && make_timer(s, number)) {
    // No program's time begins at a multiple of anything.
    return set_timer(s, {0, kSamplePeriod, 0, 1 + s->random % kSamplePeriod}) || (delete_timer(s), false);
  }
  __atomic_fetch_sub(&timers, 1, __ATOMIC_RELAXED);
  return false;
}

void set_all_timers(const TimerTimes& times) {
  for (State* s = load(&process->states); s; s = s->next) set_timer(s, times);
}

bool is_in_this_process() {
  const Process* p = process;
  return p && p->phase == kRecording && at<Header>(p->base, 0)->pid == uint32_t(process_id());
}

// No more samples from now on. The handler stays: a signal that was sent already does nothing.
void end_sampling() {
  store(&sampling_signal, 0);
  for (State* s = load(&process->states); s; s = s->next) delete_timer(s);
}

// A C library may have taken the signal.
void check_signal(int number) {
  if (handler_of(number, own_handler()) != own_handler()) note(prof_format::kSamplingEnded);
}

}  // namespace

void begin_sampling(Header* header) {
  timers = 0;
  store(&sampling_signal, 0);
  if (settings.has_no_samples) {
    header->flags |= prof_format::kNotToSample;
    return;
  }
  const uint64_t kept = kept_signals();
  int found = 0;
  if (kept == kKeptByGlibc && take_signal(32)) found = 32;
  if (found == 0 && (kept == kKeptByGlibc || kept == kKeptByMusl) && take_signal(33)) found = 33;
  store(&sampling_signal, found);
  if (found == 0) header->flags |= prof_format::kNoSampling;
}

uint64_t begin_samples_of_thread(State* s, uint64_t blocked) {
  const int number = load(&sampling_signal);
  if (number == 0) return 0;
  check_signal(number);
  if ((blocked & bit_of(number)) || !may_return_from_signal() || !start_timer(s, number))
    note(prof_format::kNotSampled);
  if (number != load(&sampling_signal)) delete_timer(s);  // given up by another thread meanwhile
  return 0;
}

void end_samples_of_thread(State* s) { delete_timer(s); }

void stop_samples() {
  const int number = load(&sampling_signal);
  if (number == 0 || !is_in_this_process()) return;
  check_signal(number);
  end_sampling();
}

void pause_samples() {
  if (load(&sampling_signal) != 0 && is_in_this_process()) set_all_timers({0, 0, 0, 0});
}

void resume_samples() {
  if (load(&sampling_signal) == 0 || !is_in_this_process()) return;
  if (may_return_from_signal()) return set_all_timers({0, kSamplePeriod, 0, kSamplePeriod});
  end_sampling();
  note(prof_format::kSamplingEnded);
}

// The program's syscall with the number of rt_sigaction. Returns what the kernel does.
extern "C" [[gnu::visibility("hidden")]] int64_t watched_action(int64_t number, uint64_t signal, uint64_t action,
                                                                uint64_t before, uint64_t size, uint64_t e) {
  if (distance_to_first != 0) return in_first(watched_action)(number, signal, action, before, size, e);
  const bool is_ours = load(&sampling_signal) != 0 && int(signal) == load(&sampling_signal);
  if (is_ours && action != 0 && is_in_this_process()) {
    end_sampling();
    note(prof_format::kSamplingEnded);
  }
  return unchecked_syscall(number, signal, action, before, size, e, 0);
}

}  // namespace libprof
