#include "gs_base.h"

#include "libprof/kernel/syscall.h"
#include "settings.h"

namespace libprof {

namespace {

constexpr uint64_t kSetGs = 0x1001;   // ARCH_SET_GS
constexpr uint64_t kHardware2 = 26;   // AT_HWCAP2
constexpr uint64_t kMayUseBases = 2;  // of it: HWCAP2_FSGSBASE

}  // namespace

// Asked once.
bool may_read_segments() {
  static uint64_t answer;  // HWCAP2, and one bit more: it was asked
  constexpr uint64_t kAsked = uint64_t(1) << 63;
  if (answer == 0) answer = auxiliary_value(kHardware2) | kAsked;
  return answer & kMayUseBases;
}

bool set_gs_base(uint64_t base) {
  if (!may_read_segments()) return syscall4(__NR_arch_prctl, kSetGs, base) == 0;
  asm volatile("wrgsbase %0" : : "r"(base) : "memory");
  return true;
}

}  // namespace libprof
