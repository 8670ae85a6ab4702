// The code:
//
//   push %rdx                        how, the third argument
//   call function                    with the arguments as they are
//   lea  start(%rip), %rdi           for each range
//   lea  end(%rip), %rsi
//   mov  (%rsp), %rdx
//   xor  %ecx, %ecx
//   call function
//   lea  anchor(%rip), %rsi          or mov: for the last range
//   mov  %rsi, %rdi
//   add  -16(%rsi), %rdi
//   add  -8(%rsi), %rsi
//   mov  (%rsp), %rdx
//   xor  %ecx, %ecx
//   call function
//   pop  %rdx
//   ret

#include "range_calls.h"

namespace profld {

namespace {

constexpr uint8_t kLeaRdi[] = {0x48, 0x8d, 0x3d}, kLeaRsi[] = {0x48, 0x8d, 0x35}, kLoadRsi[] = {0x48, 0x8b, 0x35};
constexpr uint8_t kPushRdx[] = {0x52}, kPopRdx[] = {0x5a};
constexpr uint8_t kOtherArguments[] = {0x48, 0x8b, 0x14, 0x24, 0x31, 0xc9};
constexpr uint8_t kRangeAtAnchor[] = {0x48, 0x89, 0xf7, 0x48, 0x03, 0x7e, 0xf0, 0x48, 0x03, 0x76, 0xf8};

constexpr uint64_t kAddressLength = sizeof kLeaRdi + sizeof(int32_t);
constexpr uint64_t kBegin = sizeof kPushRdx + kCallLength;
constexpr uint64_t kRange = 2 * kAddressLength + sizeof kOtherArguments + kCallLength;
constexpr uint64_t kEnd = kAddressLength + sizeof kRangeAtAnchor + sizeof kOtherArguments + kCallLength +  //
                          sizeof kPopRdx + 1;

// An instruction whose last four bytes name an address.
void with_address(InstructionWriter& writer, ByteView head, NewAddr address) {
  writer.copy(head);
  uint8_t field[sizeof(int32_t)];
  write_field(field, displacement(writer.here() + sizeof field, address));
  writer.copy(field);
}

}  // namespace

uint64_t size_of_range_calls(size_t ranges) { return kBegin + ranges * kRange + kEnd; }

void write_range_calls(InstructionWriter& writer, NewAddr function, const std::vector<NewRange>& ranges,
                       AnchoredRange last) {
  writer.copy(kPushRdx);
  writer.call(function);
  for (const NewRange& range : ranges) {
    with_address(writer, kLeaRdi, range.start);
    with_address(writer, kLeaRsi, range.end);
    writer.copy(kOtherArguments);
    writer.call(function);
  }
  with_address(writer, last.in_word ? kLoadRsi : kLeaRsi, last.anchor);
  writer.copy(kRangeAtAnchor);
  writer.copy(kOtherArguments);
  writer.call(function);
  writer.copy(kPopRdx);
  writer.return_to_caller();
}

}  // namespace profld
