#include "block_addresses.h"

#include <algorithm>

#include "libprof/format/trace.h"

namespace profld {

using namespace prof_format;

namespace {

constexpr uint8_t kRcx = 1;
constexpr int64_t kWord = 8;

std::string_view text_of(const Code& code, const Insn& insn) {
  const ByteView bytes = code.bytes_of(insn);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_wide_register(const Operand& o) { return o.type == Operand::Type::reg && o.size == kWord; }

HeldValue sum(HeldValue value, int64_t number) {
  value.offset = int64_t(uint64_t(value.offset) + uint64_t(number));
  return value;
}

// What lea computes, if that can be told.
std::optional<HeldValue> address_of(const Memory& memory, const HeldRegisters& held) {
  if (!memory.understood || memory.index != kNoRegister) return std::nullopt;
  if (memory.rip_relative) return HeldValue{HeldValue::kAddress, memory.displacement};
  if (memory.base == kNoRegister) return HeldValue{HeldValue::kNumber, memory.displacement};
  return sum(held[memory.base], memory.displacement);
}

// What the instruction leaves in the register op.to, which it writes; nullopt: that is not known.
std::optional<HeldValue> result_of(const Semantics& op, const HeldRegisters& held) {
  const bool is_number = op.from.type == Operand::Type::immediate;
  switch (op.action) {
    case Action::move:
      if (is_number) return HeldValue{HeldValue::kNumber, op.immediate};
      if (is_wide_register(op.to) && is_wide_register(op.from)) return held[op.from.reg];
      return std::nullopt;
    case Action::zero:
      return HeldValue{};
    case Action::lea:
      if (!is_wide_register(op.to)) return std::nullopt;
      return address_of(op.memory, held);
    case Action::add:
    case Action::subtract:
      if (!is_number || !is_wide_register(op.to)) return std::nullopt;
      return sum(held[op.to.reg], op.action == Action::add ? op.immediate : -op.immediate);
    default:
      return std::nullopt;
  }
}

uint8_t scale_bits(uint8_t scale) { return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0; }

}  // namespace

BlockAccess BlockAccess::unknown() const {
  BlockAccess access;
  access.place = place;
  access.size = size;
  access.flags = flags & kAccessWrite;
  access.form = kAddressUnknown;
  return access;
}

BlockAddresses::BlockAddresses() {
  for (HeldValue& held : now_) held = unknown();
}

void BlockAddresses::append(const Code& code, uint32_t first, uint32_t end) {
  held_.reserve(held_.size() + (end - first));
  for (uint32_t i = first; i < end; ++i) {
    const DecodedInstruction in = decode_memory(text_of(code, code.insns[i]));
    for (const MemoryOperand& operand : in.operands) add_access(code, code.insns[i], in, operand);
    held_.push_back(now_);
    run(code, code.insns[i]);
    if (in.is_repeated) now_[kRcx] = unknown();
    if (in.direction == Direction::as_before) continue;
    direction_ = in.direction;
    direction_set_by_ = std::min(direction_set_by_, size() - 1);
  }
}

uint8_t BlockAddresses::holder(uint32_t place, const NeededValue& value) const {
  const HeldRegisters& held = before(place);
  for (uint8_t reg = 0; reg < kRegisters; ++reg)
    if (value.is_exact ? held[reg] == value.value : held[reg].origin == value.value.origin) return reg;
  return kNoRegister;
}

// What is not certain is not known.
void BlockAddresses::run(const Code& code, const Insn& insn) {
  const Semantics op = semantics_of(code, insn);
  const HeldRegisters before = now_;
  for (uint8_t reg = 0; reg < kRegisters; ++reg)
    if ((op.writes | op.addressing) >> reg & 1) now_[reg] = unknown();
  const HeldValue stack = before[kRsp];
  switch (op.action) {
    case Action::push:
      now_[kRsp] = sum(stack, -kWord);
      break;
    case Action::pop:
      if (op.to.type != Operand::Type::reg || op.to.reg != kRsp) now_[kRsp] = sum(stack, kWord);
      break;
    case Action::leave:
      now_[kRsp] = sum(before[kRbp], kWord);
      break;
    case Action::exchange:
      now_[op.to.reg] = before[op.from.reg];
      now_[op.from.reg] = before[op.to.reg];
      break;
    default:
      if (op.to.type != Operand::Type::reg) break;
      if (const std::optional<HeldValue> result = result_of(op, before)) now_[op.to.reg] = *result;
  }
}

// Base, index and the like. False: it cannot be told.
bool BlockAddresses::add_register(BlockAccess& access, const MemoryOperand& operand) const {
  const auto add_to_sum = [&](const HeldValue& held) {  // false: it is to be written down
    if (held.origin > HeldValue::kAddress) return false;
    if (held.origin == HeldValue::kAddress && (access.form & kAddressOfModule)) return false;
    if (held.origin == HeldValue::kAddress) access.form |= kAddressOfModule;
    access.addend = sum({0, access.addend}, held.offset).offset;
    return true;
  };
  if (operand.base != MemoryOperand::kNone) {
    const HeldValue& base = now_[uint8_t(operand.base)];
    if (!add_to_sum(base)) access.base = {base, false};
  }
  if (operand.index != MemoryOperand::kNone) {
    const HeldValue& index = now_[uint8_t(operand.index)];
    const bool is_plain = operand.scale == 1 && !operand.is_byte_index;
    if (!is_plain || !add_to_sum(index)) {
      access.index = {index, operand.is_byte_index};
      access.form |= scale_bits(operand.scale);
      if (operand.is_byte_index) access.form |= kAddressByteIndex;
    }
  }
  if (operand.bit_register != MemoryOperand::kNone) {
    if (operand.bit_register == kRsp) return false;
    access.count = {now_[uint8_t(operand.bit_register)], true};
    access.form |= kAddressBit;
  }
  return true;
}

// False: it cannot be told how often it is repeated, or where it goes.
bool BlockAddresses::add_repetition(BlockAccess& access, const DecodedInstruction& in) const {
  access.flags |= kAccessRepeated;
  if (in.ends_early || in.operands[0].is_short) return false;
  access.count = {now_[kRcx], true};
  switch (direction_) {
    case Direction::up:
      return true;
    case Direction::down:
      access.flags |= kAccessDown;
      return true;
    case Direction::as_before:
      access.needs_flags = true;
      access.form |= kAddressFlags;
      return true;
    case Direction::unknown:
      return false;
  }
  return false;
}

void BlockAddresses::add_access(const Code& code, const Insn& insn, const DecodedInstruction& in,
                                const MemoryOperand& operand) {
  BlockAccess access;
  access.place = size();
  access.size = uint16_t(std::min<uint32_t>(operand.size, UINT16_MAX));
  access.flags = operand.is_write ? kAccessWrite : 0;
  access.addend = operand.displacement;
  if (operand.is_relative) {
    access.form |= kAddressOfModule;
    access.addend = sum({0, access.addend}, int64_t(code.address(insn).value)).offset;
  }
  if (operand.is_short) access.form |= kAddressShort;
  access.needs_fs = operand.segment == MemoryOperand::Segment::fs;
  const bool is_known = !operand.is_vector_index && operand.mask == MemoryOperand::Mask::none &&
                        operand.segment != MemoryOperand::Segment::gs && operand.size <= UINT16_MAX &&
                        add_register(access, operand) && (!in.is_repeated || add_repetition(access, in));
  accesses_.push_back(is_known ? access : access.unknown());
}

}  // namespace profld
