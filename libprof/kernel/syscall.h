// System calls, made by the runtime itself: it uses no libc. Results are the kernel's: an error is -errno.

#ifndef LIBPROF_SYSCALL_H
#define LIBPROF_SYSCALL_H

#include <asm/errno.h>
#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#include "allowed_calls.h"

namespace libprof {

// errno values that are looked at or given
inline constexpr int64_t kErrorNoFile = -ENOENT, kErrorExists = -EEXIST, kErrorInvalid = -EINVAL,
                         kErrorNoProcess = -ESRCH, kErrorTryAgain = -EAGAIN, kErrorInterrupted = -EINTR,
                         kErrorNoDevice = -ENODEV, kErrorNameTooLong = -ENAMETOOLONG, kErrorNoMemory = -ENOMEM,
                         kErrorNotSupported = -EOPNOTSUPP, kErrorForeignLink = -ELOOP, kErrorNoCall = -ENOSYS,
                         kErrorFileTooLarge = -EFBIG, kErrorNoSpace = -ENOSPC, kErrorBusy = -EBUSY,
                         kErrorBadAddress = -EFAULT;

// Makes the call, even if the program has forbidden it.
inline int64_t unchecked_syscall(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                 uint64_t f) {
  register uint64_t r10 asm("r10") = d;
  register uint64_t r8 asm("r8") = e;
  register uint64_t r9 asm("r9") = f;
  int64_t result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// A call that the program has forbidden (sandbox.cc) is not made: the answer is that there is no such call. So callers
// must be able to go on after any error.
inline int64_t syscall6(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
  if (is_sandboxed && !may_call(number, {a, b, c, d, e, f})) return kErrorNoCall;
  return unchecked_syscall(number, a, b, c, d, e, f);
}
inline int64_t syscall4(int64_t number, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  return syscall6(number, a, b, c, d, 0, 0);
}

inline uint64_t as_word(const void* p) { return reinterpret_cast<uint64_t>(p); }

// Flags and structures of the kernel's interface, x86-64.
inline constexpr uint64_t kReadOnly = 0, kReadWrite = 2, kCreate = 0100, kExclusive = 0200, kNoFollow = 0400000,
                          kCloseOnExec = 02000000;
inline constexpr int64_t kCurrentDirectory = -100;
inline constexpr uint64_t kProtectNone = 0, kProtectRead = 1, kProtectReadWrite = 3;
inline constexpr uint64_t kMapShared = 1, kMapPrivate = 2, kMapAnonymous = 0x20, kMapNoReserve = 0x4000,
                          kMapFixed = 0x10, kMapFixedNoReplace = 0x100000;
inline constexpr uint64_t kAdviseRandom = 1, kAdviseDontNeed = 4, kAdviseDontFork = 10, kAdviseWipeOnFork = 18,
                          kAdviseKeepOnFork = 19, kAdvisePopulateRead = 22, kAdvisePopulateWrite = 23;
inline constexpr uint64_t kClockRealtime = 0, kClockProcess = 2, kClockMonotonicRaw = 4;
inline constexpr uint64_t kLimitFileSize = 1, kLimitStack = 3, kLimitAddressSpace = 9;
inline constexpr uint64_t kInfinity = ~uint64_t(0);
inline constexpr uint64_t kOnSignalStack = 1;

struct Limit {
  uint64_t current, maximum;
};

struct SignalStack {
  uint64_t low;
  int32_t flags;
  uint64_t size;
};

struct FileStatus {  // struct stat
  uint64_t device, inode, links;
  uint32_t mode, user, group, pad;
  uint64_t rdev;
  int64_t size, block_size, blocks;
  uint64_t times[6];
  int64_t unused[3];
};
static_assert(sizeof(FileStatus) == 144);

inline int64_t open_file(const char* path, uint64_t flags, uint64_t mode = 0) {
  return syscall4(__NR_openat, uint64_t(kCurrentDirectory), as_word(path), flags, mode);
}
inline int64_t read_file(int64_t fd, void* to, uint64_t size) {
  return syscall4(__NR_read, uint64_t(fd), as_word(to), size);
}
inline void close_file(int64_t fd) { syscall4(__NR_close, uint64_t(fd)); }

inline bool is_error(int64_t result) { return uint64_t(result) > uint64_t(-4096); }

// Private zeroed memory; null if there is none.
inline void* map_memory(uint64_t size) {
  int64_t p = syscall6(__NR_mmap, 0, size, kProtectReadWrite, kMapPrivate | kMapAnonymous, uint64_t(-1), 0);
  return is_error(p) ? nullptr : reinterpret_cast<void*>(p);
}
inline void unmap_memory(void* p, uint64_t size) { syscall4(__NR_munmap, as_word(p), size); }
inline int64_t advise(void* p, uint64_t size, uint64_t advice) {
  return syscall4(__NR_madvise, as_word(p), size, advice);
}

inline int32_t process_id() { return int32_t(syscall4(__NR_getpid, 0)); }
inline int32_t thread_id() { return int32_t(syscall4(__NR_gettid, 0)); }

// Whether there are eight bytes of memory. The kernel tells: asked to change the mask of signals in a way that there is
// not, it reads the new mask, and only then complains of the way.
inline bool is_readable(uint64_t address) {
  constexpr uint64_t kNoWay = 99;
  return syscall4(__NR_rt_sigprocmask, kNoWay, address, 0, sizeof(uint64_t)) == kErrorInvalid;
}

// Nanoseconds; 0 if the call is refused.
inline uint64_t clock(uint64_t which) {
  struct {
    uint64_t seconds, nanoseconds;
  } t = {0, 0};
  syscall4(__NR_clock_gettime, which, as_word(&t));
  return t.seconds * 1'000'000'000 + t.nanoseconds;
}

// `otherwise` if the call is refused.
inline uint64_t limit_of(uint64_t resource, uint64_t otherwise = kInfinity) {
  Limit limit = {otherwise, otherwise};
  syscall4(__NR_prlimit64, 0, resource, 0, as_word(&limit));
  return limit.current;
}

// Blocks the signals of this thread, and sets *mask to what restore_signals needs. Does not block SIGTRAP and SIGSYS,
// which single steps and system calls refused by a filter raise: if they were blocked, they would kill the process.
// False if the call itself is refused. (This and the next are no part of their callers, which stay on the program's
// stack meanwhile: so they need less of that.)
[[gnu::noinline]] inline bool block_signals(uint64_t* mask) {
  constexpr uint64_t kTrap = uint64_t(1) << 4, kBadSystemCall = uint64_t(1) << 30;
  const uint64_t all = ~(kTrap | kBadSystemCall);
  return syscall4(__NR_rt_sigprocmask, 0, as_word(&all), as_word(mask), sizeof all) == 0;
}
[[gnu::noinline]] inline void restore_signals(uint64_t mask) {
  syscall4(__NR_rt_sigprocmask, 2, as_word(&mask), 0, sizeof mask);
}

}  // namespace libprof

#endif
