// The counter must tick at one rate at any frequency of the processor, also while the processor sleeps, and show the
// same on all processors. The processor guarantees the first two (INVARIANT TSC). Some virtual machines hide that; then
// we ask the kernel, which watches the counter and stops using it as a clock if it is not reliable. A program may also
// have been started without the right to read it (PR_SET_TSC): rdtsc would be a SIGSEGV.

#include "tsc.h"

#include <cpuid.h>

#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

uint64_t tsc_stopped_at;

namespace {

constexpr uint64_t kGetCounterMode = 25, kCounterFaults = 2;  // PR_GET_TSC, PR_TSC_SIGSEGV
constexpr uint32_t kPowerLeaf = 0x80000007, kInvariant = 1 << 8;

[[gnu::noinline]] bool processor_says_invariant() {
  uint32_t a, b, c, d;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) && (d & kInvariant);
}

[[gnu::noinline]] bool kernel_uses_counter() {
  char text[32];
  read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof text);
  return equal(text, "tsc\n");
}

}  // namespace

uint64_t time_stamp_if_readable() {
  static bool is_asked, is_readable;
  if (!is_asked) {
    uint32_t mode = 0;
    is_readable = syscall4(__NR_prctl, kGetCounterMode, as_word(&mode)) != 0 || mode != kCounterFaults;
    is_asked = true;
  }
  if (!is_readable) return 0;
  return tsc_stopped_at ? tsc_stopped_at : time_stamp();
}

Stamps stamps_of_one_moment(uint64_t which) {
  constexpr int kPairs = 4;
  Stamps result = {};
  uint64_t closest = ~uint64_t(0);
  for (int i = 0; i < kPairs; ++i) {
    const uint64_t before = time_stamp_if_readable(), ns = clock(which);
    const uint64_t apart = time_stamp_if_readable() - before;
    if (apart >= closest) continue;
    closest = apart;
    result = {before + apart / 2, ns};
  }
  return result;
}

bool check_tsc(const char* consequence) {
  if (time_stamp_if_readable() == 0) {
    say("the program may not read the time-stamp counter, so ", consequence);
    return false;
  }
  if (processor_says_invariant() || kernel_uses_counter()) return true;
  say("this machine's time-stamp counter does not tick evenly, so ", consequence);
  return false;
}

void stamp_last(Header* header) {
  const Stamps now = stamps_of_one_moment(kClockMonotonicRaw);
  if (tsc_stopped_at != 0 || now.ns == 0) return;  // a pair of what belongs together, or none
  header->tsc_last = now.tsc;
  header->ns_last = now.ns;
}

}  // namespace libprof
