// Time on a processor, for the price of a time stamp.
//
// The problem. The time-stamp counter goes on while the thread waits or another one has the processor. The kernel knows
// how long a thread ran (CLOCK_THREAD_CPUTIME_ID), but asking it costs twenty times what a hook does.
//
// Ways. The page of a perf event can say how to get from the counter to the thread's time (cap_user_time), but does not
// in virtual machines, which do not trust the counter that far. What it does everywhere is to change: the kernel
// rewrites the page of a task's software clock whenever it puts the task on a processor, and each time adds to the
// page's `lock`. So `lock` tells a hook, with one comparison, whether it runs in the same stretch of time on a
// processor as the hook before. If so, the counter alone tells the time that went by. If not, the kernel is asked, once
// per switch.
//
//     stamp = counter - away           away = counter - (thread's time, in cycles), as of the last switch
//
// A hook takes the counter first, compares `lock` then, and subtracts `away` last. A switch before the comparison is
// seen by it. One that comes later, with a handler whose hooks set `away` anew, makes the stamp too early, never too
// late, and for a stamp earlier than the thread's last one there is no time to give (hooks.S).
//
// The page lies at a fixed distance from the State, so that hooks find its `lock` without another load. A thread
// without a page (there is a limit on locked memory, and a sandbox may forbid the call) has zeros there and asks the
// kernel in each hook: slow, but right.
//
// Cycles per nanosecond are those of the counter and CLOCK_MONOTONIC_RAW since the process began, which is what readers
// use to get seconds (Header::tsc_start). Their error is that of one reading of a clock, however long ago that was.
//
// A forked child has not inherited the page, and its hooks find a State of zeros before they would look. Only a hook of
// its parent's that a handler's fork interrupted goes on with that State: it is given zeros there (leave_cpu_clock).
//
// Limits. A child of vfork that runs hooks uses its parent's clock, which does not see it wait. A program that switches
// all its perf events off (PR_TASK_PERF_EVENTS_DISABLE) stops the page as well: waiting counts from there on.

#include "cpu_clock.h"

#include <linux/perf_event.h>

#include "process.h"
#include "syscall.h"
#include "text.h"
#include "tsc.h"

namespace libprof {

namespace {

constexpr uint64_t kClockThread = 3;  // CLOCK_THREAD_CPUTIME_ID
constexpr uint32_t kNever = 1;        // no value of `lock` that a hook finds: it is odd only while it is written

static_assert(STATE_CLOCK_LOCK == int64_t(offsetof(perf_event_mmap_page, lock)) - int64_t(kPrivateStackSize + kPage));

char* page_of(State* s) { return private_stack_top(s) - kPrivateStackSize - kPage; }
const uint32_t* switches_of(State* s) {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(s) + STATE_CLOCK_LOCK);
}

// Maps the page of a clock of this thread, in place of the page at `address` if that is given. The result is the
// kernel's.
int64_t map_page(void* address) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = PERF_ATTR_SIZE_VER0;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;  // else it is not for everybody (perf_event_paranoid)
  attributes.exclude_hv = 1;
  const int64_t fd =
      syscall6(__NR_perf_event_open, as_word(&attributes), 0, uint64_t(-1), uint64_t(-1), PERF_FLAG_FD_CLOEXEC, 0);
  if (is_error(fd)) return fd;
  const int64_t page = syscall6(__NR_mmap, as_word(address), kPage, kProtectRead,
                                kMapShared | (address ? kMapFixed : 0), uint64_t(fd), 0);
  close_file(fd);
  return page;
}

bool map_zeros(State* s, uint64_t how) {
  const uint64_t flags = kMapPrivate | kMapAnonymous | how, wanted = as_word(page_of(s));
  const int64_t at = syscall6(__NR_mmap, wanted, kPage, kProtectRead, flags, uint64_t(-1), 0);
  if (is_error(at)) return false;
  if (uint64_t(at) == wanted) return true;
  unmap_memory(reinterpret_cast<void*>(at), kPage);  // a kernel that does not know kMapFixedNoReplace
  return false;
}

// a * b / c, for a <= c.
uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low, high, quotient;
  asm("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
  asm("divq %4" : "=a"(quotient), "=d"(high) : "a"(low), "d"(high), "r"(c) : "cc");
  return quotient;
}

// The kernel is asked how long the thread has run.
uint64_t synchronize(State* s) {
  const uint32_t switches = load(switches_of(s));
  const uint64_t last = load(&s->thread->last_tsc);
  store(&s->switches, kNever);
  const uint64_t before = time_stamp(), cpu = clock(kClockThread), now = time_stamp();
  const uint64_t ns = clock(kClockMonotonicRaw);
  if (cpu == 0 || ns == 0) {
    stop_tsc();
    return last;
  }
  const Header* header = at<Header>(s->base, 0);
  if (ns <= header->ns_start || now <= header->tsc_start) return last;
  const uint64_t ns_gone = ns - header->ns_start, ran = cpu - s->cpu_at_start;
  const uint64_t cycles = scale(ran < ns_gone ? ran : ns_gone, now - header->tsc_start, ns_gone);
  const uint64_t stamp = s->tsc_at_start + cycles;
  store(&s->away, before + (now - before) / 2 - stamp);
  if (switches != 0) store(&s->switches, switches);
  return stamp;
}

}  // namespace

bool check_cpu_clock() {
  const int64_t page = map_page(nullptr);
  if (!is_error(page)) {
    unmap_memory(reinterpret_cast<void*>(page), kPage);
    return true;
  }
  say("PROFTYPE=cpu: the kernel refuses perf_event_open, see /proc/sys/kernel/perf_event_paranoid: ", error_text(-page),
      "; nothing is recorded");
  return false;
}

bool begin_cpu_clock(State* s) {
  // What was there before may be gone although the call failed.
  if (is_error(map_page(page_of(s))) && !map_zeros(s, kMapFixed)) return false;
  const uint32_t switches = load(switches_of(s));
  s->tsc_at_start = time_stamp_if_readable();  // the thread may have inherited that it is not
  s->cpu_at_start = clock(kClockThread);
  s->away = 0;
  s->switches = switches ? switches : kNever;
  return true;
}

uint64_t cpu_stamp(State* s) {
  const uint64_t now = time_stamp();
  return load(switches_of(s)) == load(&s->switches) ? now - load(&s->away) : synchronize(s);
}

bool leave_cpu_clock(State* s) { return map_zeros(s, kMapFixedNoReplace); }

}  // namespace libprof
