#include "private_memory.h"

#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "prof/remote/system_calls.h"
#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint64_t kEnableShadowStack = 0x5001;  // ARCH_SHSTK_ENABLE of arch_prctl
constexpr uint64_t kMapType = 0xf;               // of the flags of mmap

// Those that programs make often, and that leave the mappings as they are, or make private ones.
bool leaves_mappings(const user_regs_struct& before) {
  switch (before.rax) {
    case SYS_mmap:
      return (before.r10 & kMapType) == MAP_PRIVATE;
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_open:
    case SYS_openat:
    case SYS_close:
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_faccessat:
    case SYS_readlink:
    case SYS_lseek:
    case SYS_getdents64:
    case SYS_fcntl:
    case SYS_poll:
    case SYS_brk:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigreturn:
    case SYS_futex:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_clock_gettime:
    case SYS_clock_nanosleep:
    case SYS_nanosleep:
    case SYS_getxattr:
    case SYS_lgetxattr:
    case SYS_socket:
    case SYS_connect:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_wait4:
      return true;
    default:
      return false;
  }
}

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

bool PrivateMemory::is_private(uint64_t address) const {
  for (const Range& range : shared_) {
    if (address >= range.begin && address < range.end) return false;
  }
  return true;
}

void PrivateMemory::look(pid_t process) {
  if (!is_stale_) return;
  shared_.clear();
  const std::string maps = file_of_process(process, "maps");
  read_maps(maps);
  if (maps.empty()) shared_.push_back({0, ~uint64_t(0)});  // nothing is known
  is_stale_ = false;
}

void PrivateMemory::on_call(const user_regs_struct& before) {
  if (!leaves_mappings(before)) is_stale_ = true;
}

// Lines that begin as "7f0000-8f0000 rw-s".
void PrivateMemory::read_maps(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Range range;
    const auto begin = std::from_chars(line.data(), line.data() + line.size(), range.begin, 16);
    if (begin.ec != std::errc() || begin.ptr == line.data() + line.size()) continue;
    const auto end = std::from_chars(begin.ptr + 1, line.data() + line.size(), range.end, 16);
    const size_t rights = size_t(end.ptr - line.data()) + 1;
    if (end.ec == std::errc() && rights + 4 <= line.size() && line[rights + 3] != 'p') shared_.push_back(range);
  }
}

bool is_beyond_running(pid_t thread, const user_regs_struct& before, std::string_view code, bool has_others) {
  if (!remote::is_system_call(code)) return enters_oddly(code);
  switch (before.rax) {
    case SYS_pkey_alloc:
    case SYS_pkey_mprotect:
    case SYS_userfaultfd:
      return true;
    case SYS_ioctl:
      return uint32_t(before.rsi) == USERFAULTFD_IOC_NEW;
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
