#include "only_stepped.h"

#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "prof/instructions/remote/system_calls.h"
#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint32_t kForeignNumbers = 0x40000000;  // __X32_SYSCALL_BIT
constexpr uint32_t kOwnRing = 1 << 14;            // IORING_SETUP_NO_MMAP
constexpr uint32_t kOwnBuffers = 22;              // IORING_REGISTER_PBUF_RING
constexpr uint32_t kForeignRing = 0x80000000;     // IORING_REGISTER_USE_REGISTERED_RING
constexpr uint64_t kEnableShadowStack = 0x5001;   // ARCH_SHSTK_ENABLE of arch_prctl

// A process made with these flags uses memory of its maker, which goes on, or a thread that is not traced.
bool shares_unseen(uint64_t flags, bool has_others) {
  if (!(flags & CLONE_VM)) return false;
  if (flags & CLONE_UNTRACED) return true;
  if (flags & CLONE_THREAD) return false;
  return !(flags & CLONE_VFORK) || has_others;
}

// Ways into the kernel that system_calls.h does not know.
bool enters_oddly(std::string_view code) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return at < code.size() ? unsigned(uint8_t(code[at])) : 0u; };
  while (i < code.size() && (byte(i) == 0x26 || byte(i) == 0x2e || byte(i) == 0x36 || byte(i) == 0x3e ||
                             byte(i) == 0xf0 || byte(i) == 0xf2 || byte(i) == 0xf3 ||
                             (byte(i) >= 0x64 && byte(i) <= 0x67) || (byte(i) >= 0x40 && byte(i) <= 0x4f)))
    ++i;
  if (byte(i) == 0xcd) return true;
  return byte(i) == 0x0f && (byte(i + 1) == 0x34 || (byte(i + 1) == 0x05 && i != 0));
}

}  // namespace

bool is_beyond_running(pid_t thread, const user_regs_struct& before, std::string_view code, bool has_others) {
  if (!remote::is_system_call(code)) return enters_oddly(code);
  const auto number = uint32_t(before.rax);  // the kernel does not look at more
  if (number & kForeignNumbers) return true;
  switch (number) {
    case SYS_pkey_alloc:
    case SYS_pkey_mprotect:
    case SYS_userfaultfd:
    case SYS_perf_event_open:
      return true;
    case SYS_ioctl:
      return uint32_t(before.rsi) == USERFAULTFD_IOC_NEW;
    case SYS_io_uring_setup: {
      const std::string flags = read_memory(thread, before.rsi + offsetof(io_uring_params, flags), sizeof(uint32_t));
      uint32_t value = 0;
      if (flags.size() == sizeof value) std::memcpy(&value, flags.data(), sizeof value);
      return (value & kOwnRing) != 0;
    }
    case SYS_io_uring_register:
      return (uint32_t(before.rsi) & ~kForeignRing) == kOwnBuffers;
    case SYS_arch_prctl:
      return before.rdi == kEnableShadowStack;
    case SYS_vfork:
      return has_others;
    case SYS_clone:
      return shares_unseen(before.rdi, has_others);
    case SYS_clone3: {
      const std::string flags = read_memory(thread, before.rdi, sizeof(uint64_t));
      uint64_t value = 0;
      if (flags.size() != sizeof value) return false;  // so the call fails
      std::memcpy(&value, flags.data(), sizeof value);
      return shares_unseen(value, has_others);
    }
    default:
      return false;
  }
}

}  // namespace prof::target
