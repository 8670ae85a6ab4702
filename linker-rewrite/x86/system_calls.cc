#include "system_calls.h"

#include <sys/syscall.h>

#include <algorithm>

namespace profld {

bool is_system_call(const Code& code, const Insn& insn) {
  return insn.length == 2 && code.bytes[insn.offset] == 0x0f && code.bytes[insn.offset + 1] == 0x05;
}

int64_t system_call_number(const Code& code, size_t index) {
  constexpr size_t kWindow = 10;
  for (size_t back = 1; back <= std::min(kWindow, index); ++back) {
    const Insn& insn = code.insns[index - back];
    const uint8_t* b = code.bytes.data() + insn.offset;
    if (insn.length == 5 && b[0] == 0xb8) return Reader(code.bytes.subspan(insn.offset + 1, 4), "code").read<int32_t>();
  }
  return -1;
}

PointerArguments pointer_arguments(int64_t system_call_number) {
  constexpr uint8_t kFirst = 1, kSecond = 2, kAll = 0x3f;
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
