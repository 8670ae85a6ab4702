#include "block_table.h"

#include <algorithm>

#include "prof/read/instructions.h"
#include "varint.h"

namespace prof {

using namespace prof_format;

namespace {

constexpr uint64_t kMaxAccess = uint64_t(1) << 34;  // bytes of a repeated one

// From the word that has bit 0 to the one that has this bit, a register's of as many bytes.
uint64_t distance_of_bit(uint64_t bit, unsigned size) {
  const int64_t number = size == 8 ? int64_t(bit) : size == 4 ? int32_t(bit) : int16_t(bit);
  return uint64_t((number >> (size == 8 ? 6 : size == 4 ? 5 : 4)) * int64_t(size));
}

}  // namespace

BlockTable::BlockTable(std::string_view bytes) {
  TraceBytes all(bytes);
  const auto head = all.read<TraceBlocks>();
  if (head.block_size != sizeof(TraceBlock) || head.operand_size != sizeof(TraceOperand) ||
      head.blocks > all.remaining() / sizeof(TraceBlock) || head.operands > all.remaining() / sizeof(TraceOperand))
    throw DamagedTrace("the table of blocks has no size that it can have");
  blocks_.reserve(size_t(head.blocks));
  for (uint64_t i = 0; i < head.blocks; ++i) blocks_.push_back(all.read<TraceBlock>());
  operands_.reserve(size_t(head.operands));
  for (uint64_t i = 0; i < head.operands; ++i) operands_.push_back(all.read<TraceOperand>());
  for (const TraceBlock& block : blocks_) {
    first_next_.push_back(next_.size());
    if (block.next > all.remaining() / sizeof(uint32_t))
      throw DamagedTrace("the table of blocks has no room for its ways");
    for (uint32_t i = 0; i < block.next; ++i) {
      next_.push_back(all.read<uint32_t>());
      if (next_.back() >= blocks_.size()) throw DamagedTrace("the table of blocks has a way that leads nowhere");
    }
  }
  code_ = all.take(head.code_size);

  find_chains();
  uint64_t operand = 0;
  for (const TraceBlock& block : blocks_) {
    first_operands_.push_back(operand);
    operand += block.operands;
    if (operand > operands_.size() || block.code > code_.size() || block.size > code_.size() - block.code ||
        (block.size == 0) != (block.instructions == 0) ||
        (block.size == 0 && block.before == 0 && !(block.flags & kBlockWrites)) || block.values > kMaxRecordValues)
      throw DamagedTrace("the table of blocks has a block that cannot be");
    uint32_t instruction = 0;
    for (uint64_t i = operand - block.operands; i < operand; ++i) {
      const TraceOperand& o = operands_[i];
      const auto is_value = [&](uint16_t value) { return value == kNoValue || value < block.values; };
      if (o.instruction < instruction || o.instruction >= block.instructions || !is_value(o.base) ||
          !is_value(o.index) || !is_value(o.segment) || !is_value(o.count))
        throw DamagedTrace("the table of blocks has an access that cannot be");
      instruction = o.instruction;
    }
  }
}

void BlockTable::find_chains() {
  std::vector<uint32_t> length(blocks_.size());  // of the chain up to each block, with it; 0: not known yet
  std::vector<size_t> chain;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    chain.clear();
    for (size_t at = i; length[at] == 0; at = blocks_[at].before - 1) {
      chain.push_back(at);
      if (blocks_[at].before > blocks_.size())
        throw DamagedTrace("the table of blocks names one before another that is not there");
      if (chain.size() > kMaxBlocksBefore + 1)
        throw DamagedTrace("the table of blocks has too many blocks before another");
      if (blocks_[at].before == 0) {
        length[at] = 1;
        break;
      }
    }
    while (!chain.empty()) {
      const size_t at = chain.back();
      chain.pop_back();
      if (length[at] == 0) length[at] = length[blocks_[at].before - 1] + 1;
      if (length[at] > kMaxBlocksBefore + 1)
        throw DamagedTrace("the table of blocks has too many blocks before another");
    }
  }
}

std::span<const TraceOperand> BlockTable::operands(uint64_t block) const {
  return std::span(operands_).subspan(size_t(first_operands_[block]), blocks_[block].operands);
}

std::string_view BlockTable::code(uint64_t block) const {
  return std::string_view(code_).substr(size_t(blocks_[block].code), blocks_[block].size);
}

TraceRun BlockTable::run(uint64_t block, uint32_t process, uint64_t bias, bool is_down) const {
  const TraceBlock& b = blocks_[block];
  TraceRun run;
  run.process = process;
  run.start = b.address + bias;
  run.end = run.start + b.size;
  for (const Instruction& instruction : decode_instructions(code(block), run.start)) {
    if (!instruction.is_known) break;
    run.lengths.push_back(instruction.length);
  }
  if (run.lengths.size() != b.instructions) throw DamagedTrace("the code of a block is not what the block says");
  for (const TraceOperand& operand : operands(block)) {
    RunAccess& access = run.accesses.emplace_back(RunAccess{operand.instruction, operand.size, operand.flags});
    if (is_down && (operand.form & kAddressFlags)) access.flags |= kAccessDown;
  }
  return run;
}

BlockTable::Known BlockTable::accesses(uint64_t block, uint64_t bias, std::span<const uint64_t> values,
                                       std::vector<AccessValue>& to) const {
  to.clear();
  Known known;
  for (const TraceOperand& operand : operands(block)) {
    AccessValue& access = to.emplace_back(AccessValue{0, 0});
    const auto is_missing = [&](uint16_t value) { return value != kNoValue && value >= values.size(); };
    const auto value_of = [&](uint16_t value) { return value == kNoValue ? 0 : values[value]; };
    if (is_missing(operand.base) || is_missing(operand.index) || is_missing(operand.segment) ||
        is_missing(operand.count)) {
      known.lacks_values = true;
      continue;
    }
    if ((operand.form & kAddressUnknown) || (operand.segment != kNoValue && value_of(operand.segment) == 0)) {
      known.has_unknown = true;
      continue;
    }
    uint64_t address = uint64_t(operand.addend) + value_of(operand.base), count = 1, index = value_of(operand.index);
    if (operand.form & kAddressOfModule) address += bias;
    if (operand.form & kAddressFlags) {
      known.is_down |= (index & kDirectionFlag) != 0;
      index = 0;
    }
    if (operand.form & kAddressByteIndex) index &= UINT8_MAX;
    address += index << (operand.form & kAddressScale);
    if (operand.form & kAddressShort) address = uint32_t(address);
    address += value_of(operand.segment);
    if (operand.form & kAddressBit) address += distance_of_bit(value_of(operand.count), operand.size);
    if (operand.flags & kAccessRepeated) count = value_of(operand.count);
    if (operand.size && count > kMaxAccess / operand.size) throw DamagedTrace("an access is too large");
    access = {address, count};
  }
  return known;
}

}  // namespace prof
