#include "encoding.h"

namespace profld {

namespace {

using namespace opcode;

// Three bits of the ModRM byte that say what an opcode with a number (kWithNumber32, kWithNumber8, kIncrement) does.
constexpr unsigned kToAdd = 0, kToSubtract = 5, kToCompare = 7, kToDecrement = 1;
constexpr unsigned opcode_extension(uint8_t modrm) { return modrm >> 3 & 7; }

constexpr uint8_t kTopOfStack = 0x24;  // a SIB byte: (%rsp)

constexpr size_t kAddressSize = 4;

}  // namespace

Bytes jump_bytes(NewAddr at, NewAddr target) {
  Bytes bytes(kJumpLength);
  InstructionWriter(bytes.data(), at).jump(target);
  return bytes;
}

Bytes short_jump_bytes(OldAddr at, OldAddr target) {
  Bytes bytes(kShortJumpLength);
  InstructionWriter(bytes.data(), unmoved(at)).jump_over(uint32_t(target - at) - kShortJumpLength);
  return bytes;
}

Bytes jump_through_bytes(NewAddr at, NewAddr pointer) {
  Bytes bytes(kJumpThroughLength);
  InstructionWriter(bytes.data(), at).jump_through(pointer);
  return bytes;
}

std::optional<int32_t> number_moved_to_eax(ByteView insn) {
  if (insn.size() != 5 || insn[0] != kMoveNumberToRegister) return std::nullopt;
  return last_number<int32_t>(insn);
}

bool adds_to_word(ByteView insn) {
  if (insn.size() < 3 || !is_rex_w(insn[0])) return false;
  const unsigned to = opcode_extension(insn[2]);
  switch (insn[1]) {
    case kIncrement:
      return to <= kToDecrement;
    case kAdd:
    case kSubtract:
      return true;
    case kWithNumber32:
    case kWithNumber8:
      return to == kToAdd || to == kToSubtract;
    default:
      return false;
  }
}

bool writes_top_of_stack(ByteView insn) {
  if (insn.size() < 4 || !is_rex_w(insn[0]) || !has_sib(insn[2]) || insn[3] != kTopOfStack) return false;
  switch (insn[1]) {
    case kStore:
    case kExchange:
    case kMoveNumber:
    case kAdd:
    case kSubtract:
      return true;
    case kWithNumber32:
    case kWithNumber8:
      return opcode_extension(insn[2]) != kToCompare;
    default:
      return false;
  }
}

std::optional<uint32_t> address_of_indexed_jump(ByteView insn) {
  constexpr uint8_t kJumpBySib = 0x24;  // a ModRM byte: *(the address that the SIB byte gives)
  constexpr size_t kShortest = 3 + kAddressSize;
  if (insn.size() < kShortest) return std::nullopt;
  const ByteView last = insn.last(kShortest);
  if (last[0] != kJumpThrough || last[1] != kJumpBySib || !has_no_base(last[2])) return std::nullopt;
  return last_number<uint32_t>(insn);
}

bool starts_with_endbr64(ByteView code) {
  return code.size() >= kEndbr64Length && std::memcmp(code.data(), kEndbr64, kEndbr64Length) == 0;
}

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
