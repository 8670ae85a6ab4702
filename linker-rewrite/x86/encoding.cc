#include "encoding.h"

namespace profld {

namespace {

// Opcodes of one byte. Where a name ends in Number, bits 3 to 5 of the ModRM byte say which operation it is.
constexpr uint8_t kAdd = 0x01, kSubtract = 0x29, kNumber32 = 0x81, kNumber8 = 0x83, kExchange = 0x87, kStore = 0x89,
                  kLoad = 0x8b, kLea = 0x8d, kMoveNumber = 0xc7, kIncrement = 0xff, kJumpThrough = 0xff,
                  kCompare = 0x3b, kPushNumber = 0x68, kMoveToRegister = 0xb8;  // the last: and the seven behind it
// The operations of kNumber32, kNumber8 and kIncrement.
constexpr unsigned kToAdd = 0, kToSubtract = 5, kToCompare = 7, kToDecrement = 1;

constexpr uint8_t kBnd = 0xf2, kOperandSize = 0x66, kOfThread = 0x64;

constexpr bool is_rex(uint8_t byte) { return (byte & 0xf0) == 0x40; }
constexpr bool is_rex_w(uint8_t byte) { return (byte & 0xf8) == 0x48; }
constexpr unsigned operation(uint8_t modrm) { return modrm >> 3 & 7; }
// The operand in memory is what the SIB byte says, without a displacement of its own.
constexpr bool has_sib(uint8_t modrm) { return (modrm & 0xc7) == 0x04; }
constexpr uint8_t kTopOfStack = 0x24;  // a SIB byte: (%rsp)
constexpr uint8_t kAbsolute = 0x25;    // a SIB byte: an address and nothing else
constexpr bool has_no_base(uint8_t sib) { return (sib & 0x07) == 0x05; }

constexpr size_t kAddressSize = 4;

std::optional<uint32_t> address_without_base(ByteView insn) {
  const uint8_t sib = insn[insn.size() - kAddressSize - 1];
  return has_no_base(sib) ? last_number<uint32_t>(insn) : std::nullopt;
}

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

std::optional<uint32_t> number_kept_by(ByteView insn) {
  size_t at = 0;
  while (at < insn.size() && (insn[at] == kOperandSize || is_rex(insn[at]))) ++at;
  if (at + 1 + sizeof(uint32_t) > insn.size()) return std::nullopt;
  const uint8_t opcode = insn[at];
  if (opcode != kMoveNumber && (opcode & 0xf8) != kMoveToRegister && opcode != kPushNumber && opcode != kLea)
    return std::nullopt;
  return last_number<uint32_t>(insn);
}

std::optional<int32_t> number_moved_to_eax(ByteView insn) {
  if (insn.size() != 5 || insn[0] != kMoveToRegister) return std::nullopt;
  return last_number<int32_t>(insn);
}

bool is_system_call(ByteView insn) { return insn.size() == 2 && insn[0] == 0x0f && insn[1] == 0x05; }

bool is_lea(ByteView insn, size_t field) { return field >= 2 && insn[field - 2] == kLea; }

bool adds_to_word(ByteView insn) {
  if (insn.size() < 3 || !is_rex_w(insn[0])) return false;
  const unsigned to = operation(insn[2]);
  switch (insn[1]) {
    case kIncrement:
      return to <= kToDecrement;
    case kAdd:
    case kSubtract:
      return true;
    case kNumber32:
    case kNumber8:
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
    case kNumber32:
    case kNumber8:
      return operation(insn[2]) != kToCompare;
    default:
      return false;
  }
}

bool compares_with_stack_limit(ByteView insn) {
  constexpr uint32_t kLimit = 0x70;  // %fs:0x70, which glibc reserves for it
  return insn.size() == 9 && insn[0] == kOfThread && insn[2] == kCompare && has_sib(insn[3]) && insn[4] == kAbsolute &&
         last_number<uint32_t>(insn) == kLimit;
}

std::optional<uint32_t> address_of_indexed_jump(ByteView insn) {
  constexpr uint8_t kJumpBySib = 0x24;  // a ModRM byte
  constexpr size_t kShortest = 3 + kAddressSize;
  if (insn.size() < kShortest) return std::nullopt;
  const ByteView last = insn.last(kShortest);
  if (last[0] != kJumpThrough || last[1] != kJumpBySib) return std::nullopt;
  return address_without_base(insn);
}

std::optional<uint32_t> address_of_indexed_load(ByteView insn) {
  if (insn.size() != 4 + kAddressSize || !is_rex_w(insn[0]) || insn[1] != kLoad || !has_sib(insn[2]))
    return std::nullopt;
  return address_without_base(insn);
}

bool starts_with_endbr64(ByteView code) {
  constexpr uint8_t kEndbr64[kEndbr64Length] = {0xf3, 0x0f, 0x1e, 0xfa};
  return code.size() >= kEndbr64Length && std::memcmp(code.data(), kEndbr64, kEndbr64Length) == 0;
}

std::optional<int64_t> distance_to_slot(ByteView code) {
  constexpr size_t kStubLength = 16;         // with what fills it up
  constexpr uint8_t kJumpThroughRip = 0x25;  // a ModRM byte: *disp(%rip)
  if (code.size() < kStubLength) return std::nullopt;
  size_t at = starts_with_endbr64(code) ? kEndbr64Length : 0;
  if (code[at] == kBnd) ++at;
  if (code[at] != kJumpThrough || code[at + 1] != kJumpThroughRip) return std::nullopt;
  const size_t end = at + 2 + kAddressSize;
  return int64_t(end) + *last_number<int32_t>(code.subspan(at, end - at));
}

}  // namespace profld
