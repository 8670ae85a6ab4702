#include "system_calls.h"

#include <sys/syscall.h>

#include <algorithm>

#include "encoding.h"
#include "semantics.h"

namespace profld {

namespace {

// Whether a branch of `code` leads after the instruction `first`, at most to the instruction `last`.
bool is_entered_between(const Code& code, size_t first, size_t last) {
  const OldAddr from = code.next(code.insns[first]), to = code.address(code.insns[last]);
  return std::ranges::any_of(code.insns, [&](const Insn& insn) {
    const bool is_branch = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    if (!is_branch || insn.field_size == 0) return false;
    const OldAddr target = code.target(insn);
    return target >= from && target <= to;
  });
}

}  // namespace

int64_t system_call_number(const Code& code, size_t index) {
  constexpr size_t kWindow = 10;
  for (size_t back = 1; back <= std::min(kWindow, index); ++back) {
    const size_t i = index - back;
    const Insn& insn = code.insns[i];
    if (const auto number = number_moved_to_eax(code.bytes_of(insn)))
      return is_entered_between(code, i, index) ? -1 : *number;
    if (insn.flow != Flow::next && insn.flow != Flow::jump_if && insn.flow != Flow::jump_if_short) break;
    const Semantics effect = semantics_of(code, insn);
    if (effect.action == Action::zero && effect.to.type == Operand::Type::reg && effect.to.reg == kRax)
      return is_entered_between(code, i, index) ? -1 : 0;
    if (effect.writes & 1u << kRax) break;
  }
  return -1;
}

bool ends_signal(ByteView code) {
  constexpr uint8_t kSigreturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};  // mov $15, %rax; syscall
  return code.size() == 1 + sizeof kSigreturn && std::ranges::equal(code.subspan(1), kSigreturn);
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
