#include "system_calls.h"

#include <sys/syscall.h>

#include <algorithm>

#include "encoding.h"

namespace profld {

int64_t system_call_number(const Code& code, size_t index) {
  constexpr size_t kWindow = 10;
  for (size_t back = 1; back <= std::min(kWindow, index); ++back) {
    if (const auto number = number_moved_to_eax(code.bytes_of(code.insns[index - back]))) return *number;
  }
  return -1;
}

PointerArguments pointer_arguments(int64_t system_call_number) {
  constexpr uint8_t kFirst = 1, kSecond = 2, kAll = (1 << 6) - 1;
  switch (system_call_number) {
    case -1:
      return {.bytes = kAll};
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_recvfrom:
      return {.bytes = kSecond};
    case SYS_getrandom:
      return {.bytes = kFirst};
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_msync:
    case SYS_madvise:
    case SYS_mlock:
      return {.pages = kFirst};
    default:
      return {};
  }
}

}  // namespace profld
