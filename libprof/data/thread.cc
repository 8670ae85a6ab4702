#include "thread.h"

#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "settings.h"

namespace libprof {

namespace {

constexpr uint64_t kGetName = 16;     // PR_GET_NAME
constexpr uint64_t kSetGs = 0x1001;   // ARCH_SET_GS
constexpr uint64_t kGetGs = 0x1004;   // ARCH_GET_GS
constexpr uint64_t kHardware2 = 26;   // AT_HWCAP2
constexpr uint64_t kMayUseBases = 2;  // of it: HWCAP2_FSGSBASE

}  // namespace

void note_name(State* s) {
  char name[16] = {};
  if (syscall4(__NR_prctl, kGetName, as_word(name)) == 0) memcpy(s->thread->name, name, sizeof name);
}

void note_name_of_other(State* s) {
  char path[64], name[sizeof s->thread->name + 1];
  Line(path, sizeof path) << "/proc/self/task/" << uint64_t(s->tid) << "/comm";
  const size_t size = read_text(path, name, sizeof name);
  if (size < 2) return;  // it has ended
  memset(s->thread->name, 0, sizeof s->thread->name);
  memcpy(s->thread->name, name, size - 1);  // without the end of the line
}

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

bool get_gs_base(uint64_t* base) {
  if (!may_read_segments()) return syscall4(__NR_arch_prctl, kGetGs, as_word(base)) == 0;
  asm volatile("rdgsbase %0" : "=r"(*base));
  return true;
}

}  // namespace libprof
