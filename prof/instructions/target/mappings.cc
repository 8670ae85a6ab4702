#include "mappings.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint64_t kMapType = 0xf;  // of the flags of mmap
constexpr uint64_t kMaxHeap = uint64_t(1) << 40;

}  // namespace

bool Mappings::is_private(uint64_t address) const {
  return std::none_of(shared_.begin(), shared_.end(),
                      [address](const Range& range) { return address >= range.begin && address < range.end; });
}

bool Mappings::is_code(uint64_t address) const {
  return std::any_of(code_.begin(), code_.end(),
                     [address](const Range& range) { return address >= range.begin && address < range.end; });
}

bool Mappings::has_code(uint64_t begin, uint64_t size) const {
  return std::any_of(code_.begin(), code_.end(), [begin, size](const Range& range) {
    return begin < range.end && (begin >= range.begin || range.begin - begin < size);
  });
}

void Mappings::look(pid_t thread) {
  if (!is_stale_) return;
  shared_.clear();
  code_.clear();
  const std::string maps = file_of_process(thread, "maps");
  read_maps(maps);
  if (maps.empty()) shared_.push_back({0, ~uint64_t(0)});  // nothing is known
  is_stale_ = false;
}

void Mappings::on_call(const user_regs_struct& before) {
  if (!leaves(before)) is_stale_ = true;
}

// Calls that programs make often, where they make nothing shared, and neither make code of memory nor other memory of code.
bool Mappings::leaves(const user_regs_struct& before) const {
  switch (before.rax) {
    case SYS_mmap:
      return (before.r10 & kMapType) == MAP_PRIVATE && !(before.rdx & PROT_EXEC) && !has_code(before.rdi, before.rsi);
    case SYS_mprotect:
      return !(before.rdx & PROT_EXEC) && !has_code(before.rdi, before.rsi);
    case SYS_munmap:
      return !has_code(before.rdi, before.rsi);
    case SYS_brk:  // memory above was taken, or is new
      return !has_code(before.rdi, kMaxHeap);
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

// Lines that begin as "7f0000-8f0000 rw-s".
void Mappings::read_maps(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Range range;
    const auto begin = std::from_chars(line.data(), line.data() + line.size(), range.begin, 16);
    if (begin.ec != std::errc() || begin.ptr == line.data() + line.size()) continue;
    const auto end = std::from_chars(begin.ptr + 1, line.data() + line.size(), range.end, 16);
    const size_t rights = size_t(end.ptr - line.data()) + 1;
    if (end.ec != std::errc() || rights + 4 > line.size()) continue;
    if (line[rights + 2] == 'x') code_.push_back(range);
    if (line[rights + 3] != 'p') shared_.push_back(range);
  }
}

}  // namespace prof::target
