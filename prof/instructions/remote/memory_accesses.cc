#include "memory_accesses.h"

#include <cstring>

namespace prof::remote {

namespace {

constexpr int8_t kNone = MemoryOperand::kNone;

// By the number of a register in instructions.
constexpr RegisterNumber kNumbers[] = {reg_rax, reg_rcx, reg_rdx, reg_rbx, reg_rsp, reg_rbp, reg_rsi, reg_rdi};

// 0 if it is kNone.
uint64_t value_of(const Registers& registers, int8_t reg) {
  if (reg == kNone) return 0;
  return registers[reg < reg_r8 ? size_t(kNumbers[size_t(reg)]) : size_t(reg)];
}

bool chooses(const MemoryOperand& operand, const VectorRegisters& vectors, unsigned element) {
  if (operand.mask == MemoryOperand::Mask::none) return true;
  if (operand.mask == MemoryOperand::Mask::register_) return vectors.masks[operand.mask_number & 7] >> element & 1;
  const size_t highest = size_t(element + 1) * operand.element - 1;
  const auto& vector = vectors.vectors[operand.mask_number & 31];
  return highest < vector.size() && (vector[highest] & 0x80);
}

int64_t index_of(const MemoryOperand& operand, const VectorRegisters& vectors, unsigned element) {
  const auto& vector = vectors.vectors[uint8_t(operand.index) & 31];
  const size_t at = size_t(element) * operand.index_element;
  if (at + operand.index_element > vector.size()) return 0;
  if (operand.index_element == 8) {
    int64_t value = 0;
    std::memcpy(&value, &vector[at], sizeof value);
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, &vector[at], sizeof value);
  return value;
}

uint64_t address_of(const MemoryOperand& operand, const Registers& registers, int64_t index) {
  uint64_t address = uint64_t(operand.displacement);
  if (operand.is_relative) address += registers[reg_rip];
  address += value_of(registers, operand.base);
  address += uint64_t(index) * operand.scale;
  if (operand.is_short) address = uint32_t(address);
  if (operand.segment == MemoryOperand::Segment::fs) address += registers[reg_fs_base];
  if (operand.segment == MemoryOperand::Segment::gs) address += registers[reg_gs_base];
  return address;
}

void add(uint64_t address, uint32_t size, const MemoryOperand& operand, std::vector<TraceAccess>& to) {
  TraceAccess& access = to.emplace_back();
  access.address = address;
  access.size = size;
  access.is_write = operand.is_write;
}

// Chosen elements that stand side by side are one access.
void add_chosen(const MemoryOperand& operand, const Registers& registers, const VectorRegisters& vectors,
                std::vector<TraceAccess>& to) {
  unsigned chosen = 0;
  for (unsigned i = 0; i < operand.elements; ++i) {
    if (!chooses(operand, vectors, i)) continue;
    ++chosen;
    if (operand.is_packed || operand.is_one) continue;
    if (operand.is_vector_index) {
      add(address_of(operand, registers, index_of(operand, vectors, i)), operand.element, operand, to);
      continue;
    }
    const bool goes_on = i > 0 && chooses(operand, vectors, i - 1);
    const int64_t index = int64_t(value_of(registers, operand.index));
    if (goes_on)
      to.back().size += operand.element;
    else
      add(address_of(operand, registers, index) + uint64_t(i) * operand.element, operand.element, operand, to);
  }
  if (chosen == 0 || (!operand.is_packed && !operand.is_one)) return;
  const int64_t index = int64_t(value_of(registers, operand.index));
  add(address_of(operand, registers, index), operand.is_one ? operand.size : chosen * operand.element, operand, to);
}

}  // namespace

void memory_accesses(const DecodedInstruction& instruction, const Registers& registers, const VectorRegisters* vectors,
                     std::vector<TraceAccess>& to) {
  static const VectorRegisters kNoVectors;
  if (instruction.is_repeated && !instruction.operands.empty()) {
    const uint64_t count = registers[reg_rcx];  // of an instruction with short addresses it is ecx
    if ((instruction.operands[0].is_short ? uint32_t(count) : count) == 0) return;
  }
  for (const MemoryOperand& operand : instruction.operands) {
    if (operand.is_vector_index || operand.mask != MemoryOperand::Mask::none) {
      add_chosen(operand, registers, vectors ? *vectors : kNoVectors, to);
      continue;
    }
    int64_t index = int64_t(value_of(registers, operand.index));
    if (operand.is_byte_index) index &= 0xff;
    uint64_t address = address_of(operand, registers, index);
    if (operand.bit_register != kNone) {
      const uint64_t value = value_of(registers, operand.bit_register);
      const int64_t bit = operand.size == 8 ? int64_t(value) : operand.size == 4 ? int32_t(value) : int16_t(value);
      address += uint64_t((bit >> (operand.size == 8 ? 6 : operand.size == 4 ? 5 : 4)) * int64_t(operand.size));
    }
    add(address, operand.size, operand, to);
    if (!instruction.is_repeated) continue;
    to.back().is_repeated = true;
    to.back().is_down = (registers[reg_flags] & kDirectionFlag) != 0;
  }
}

}  // namespace prof::remote
