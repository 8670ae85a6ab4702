#include "system_calls.h"

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
  constexpr size_t kWindow = 16;
  std::optional<uint8_t> low_byte;  // musl's code in assembly: xor %eax, %eax; mov $56, %al
  for (size_t back = 1; back <= std::min(kWindow, index); ++back) {
    const size_t i = index - back;
    const Insn& insn = code.insns[i];
    const auto if_always = [&](int64_t number) { return is_entered_between(code, i, index) ? -1 : number; };
    if (const auto number = number_moved_to_eax(code.bytes_of(insn))) return low_byte ? -1 : if_always(*number);
    if (insn.flow != Flow::next && insn.flow != Flow::jump_if && insn.flow != Flow::jump_if_short) break;
    const Semantics effect = semantics_of(code, insn);
    if (effect.action == Action::zero && effect.to.type == Operand::Type::reg && effect.to.reg == kRax)
      return if_always(low_byte.value_or(0));
    if (const auto number = number_moved_to_al(code.bytes_of(insn)); number && !low_byte)
      low_byte = *number;
    else if (effect.writes & 1u << kRax)
      break;
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

// The code. rcx and r11 are free before a system call, as it overwrites them. The number may be any, so it is compared
// first, which changes no flags. What runs after the call in rax = 0 is what it made; its number says what the other
// registers mean. The call of all other numbers is last, as C libraries compare the address after it with that of an
// interrupted instruction, to know whether it was made.
//
//        lea     -SYS_clone(%rax), %ecx     // for each of kTaskCalls
//        jrcxz   1f
//        ...
//        jmp     8f
//     1: syscall                            // for each of kTaskCalls
//        mov     %rax, %rcx
//        jrcxz   2f
//        jmp     9f
//     2: mov     $SYS_clone, %r11d
//        lea     9f(%rip), %rcx             // where it goes on
//        jmp     *begin(%rip)
//        ...
//     8: syscall
//     9:
void write_task_call(InstructionWriter& writer, NewAddr begin) {
  constexpr uint8_t kCall[] = {0x0f, 0x05}, kIfZero[] = {0xe3};
  constexpr uint8_t kCompare[] = {0x8d, 0x88}, kCopyResult[] = {0x48, 0x89, 0xc1}, kTellNumber[] = {0x41, 0xbb};
  constexpr uint8_t kTellEnd[] = {0x48, 0x8d, 0x0d};
  constexpr uint32_t kNumber = sizeof(int32_t), kIfZeroLength = kShortJumpLength;
  constexpr uint32_t kCompareLength = sizeof kCompare + kNumber + kIfZeroLength;
  constexpr uint32_t kBegin = sizeof kTellNumber + kNumber + sizeof kTellEnd + kNumber + kJumpThroughLength;
  constexpr uint32_t kOwn = sizeof kCall + sizeof kCopyResult + kIfZeroLength + kShortJumpLength + kBegin;
  constexpr uint32_t kCalls = std::size(kTaskCalls);
  static_assert(kTaskCallLength == kCalls * (kCompareLength + kOwn) + kShortJumpLength + sizeof kCall);
  const NewAddr end = writer.here() + kTaskCallLength;
  const auto to_end = [&](uint32_t length) { return uint32_t(end - writer.here()) - length; };
  const auto number = [&](int32_t n) {
    uint8_t bytes[kNumber];
    write_field(bytes, n);
    writer.copy(bytes);
  };
  for (uint32_t i = 0; i < kCalls; ++i) {
    writer.copy(kCompare);
    number(int32_t(-kTaskCalls[i]));
    writer.branch_over(kIfZero, (kCalls - 1 - i) * kCompareLength + kShortJumpLength + i * kOwn);
  }
  writer.jump_over(kCalls * kOwn);
  for (const int64_t call : kTaskCalls) {
    writer.copy(kCall);
    writer.copy(kCopyResult);
    writer.branch_over(kIfZero, kShortJumpLength);
    writer.jump_over(to_end(kShortJumpLength));
    writer.copy(kTellNumber);
    number(int32_t(call));
    writer.copy(kTellEnd);
    number(displacement(writer.here() + kNumber, end));
    writer.jump_through(begin);
  }
  writer.copy(kCall);
}

}  // namespace profld
