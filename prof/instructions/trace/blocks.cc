#include "blocks.h"

#include <algorithm>
#include <cstring>
#include <span>

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
    throw DamagedTrace("its table of blocks has no size that it can have");
  blocks_.reserve(size_t(head.blocks));
  for (uint64_t i = 0; i < head.blocks; ++i) blocks_.push_back(all.read<TraceBlock>());
  operands_.reserve(size_t(head.operands));
  for (uint64_t i = 0; i < head.operands; ++i) operands_.push_back(all.read<TraceOperand>());
  for (const TraceBlock& block : blocks_) {
    first_next_.push_back(next_.size());
    if (block.next > all.remaining() / sizeof(uint32_t))
      throw DamagedTrace("its table of blocks has no room for its ways");
    for (uint32_t i = 0; i < block.next; ++i) {
      next_.push_back(all.read<uint32_t>());
      if (next_.back() >= blocks_.size()) throw DamagedTrace("its table of blocks has a way that leads nowhere");
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
      throw DamagedTrace("its table of blocks has a block that cannot be");
    uint32_t instruction = 0;
    for (uint64_t i = operand - block.operands; i < operand; ++i) {
      const TraceOperand& o = operands_[i];
      const auto is_value = [&](uint16_t value) { return value == kNoValue || value < block.values; };
      if (o.instruction < instruction || o.instruction >= block.instructions || !is_value(o.base) ||
          !is_value(o.index) || !is_value(o.segment) || !is_value(o.count))
        throw DamagedTrace("its table of blocks has an access that cannot be");
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
        throw DamagedTrace("its table of blocks names one before another that is not there");
      if (chain.size() > kMaxBlocksBefore + 1)
        throw DamagedTrace("its table of blocks has too many blocks before another");
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
        throw DamagedTrace("its table of blocks has too many blocks before another");
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
    if (operand.size && count > kMaxAccess / operand.size)
      throw DamagedTrace("an instruction touches more memory than any can");
    access = {address, count};
  }
  return known;
}

// The problem. Most blocks of a rewritten program write nothing (linker-rewrite/blocks/silent_blocks.cc): which of them
// ran is told by two words, one after the other. Some of these blocks are the same whatever ran before, and the table
// names them (`before`). For the others, it has the ways on from each block: from one that writes, what can be reached
// by way of such as do not is a tree, and so the next word says which of its branches ran.
//
// Signals. A handler's words stand between two of the code that it came to. So if the next word is not in the tree,
// that code was interrupted, and is kept, as a program keeps it on its stack. A handler's first word is of a block that
// tells by itself what ran before it; so does the first one after a call. They are marked: from outside. No tree has
// both such ones and some that depend on where it begins. So trees with such ones need not be kept, and when another
// one comes, a tree that it is in was interrupted, and goes on.
//
// Doubt. Often just one tree is kept that the word is in, and it is certain. But handlers may have interrupted each
// other in the same function. Then what was interrupted last goes on first, unless that was left for good, by
// siglongjmp, or handlers switch stacks, by swapcontext. No word says so. So if the trees that are kept tell other ways
// to the word, the innermost one is taken, and how many instructions may be others is counted. None of these trees may
// be forgotten then, as it may be another one that went on: the one that was taken is moved to those that are left,
// which are asked last.
//
// What cannot be told: what ran before the first word of a thread that has no beginning: in a ring, or in a child that
// a handler forked. Elsewhere, it is a gap. Nor what ran after the last word of code that does not go on.

using namespace prof_format;

namespace {

constexpr uint64_t kMaxReached = uint64_t(1) << 25;  // of all trees together; real ones have some dozens each
constexpr size_t kMaxInterrupted = 256;

}  // namespace

const BlockWays::Tree& BlockWays::after(uint32_t from) {
  const auto [at, is_new] = trees_.try_emplace(from);
  if (!is_new) return at->second;
  std::vector<Reached>& reached = at->second.reached;
  const auto add = [&](uint32_t before) {
    for (const uint32_t to : table_.next(before)) reached.push_back({to, before});
    if (size_ + reached.size() > kMaxReached) throw DamagedTrace("its table of blocks has too many ways");
  };
  add(from);
  for (size_t i = 0; i < reached.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows
    const uint32_t block = reached[i].block;
    if (!table_.writes(block)) add(block);
    at->second.is_inside &= !table_.is_from_outside(block);
  }
  size_ += reached.size();
  std::ranges::sort(reached, {}, &Reached::block);
  if (std::ranges::adjacent_find(reached, {}, &Reached::block) != reached.end())
    throw DamagedTrace("its table of blocks has two ways to a block");
  return at->second;
}

bool BlockWays::find(uint32_t from, uint32_t to, std::vector<uint32_t>& way) {
  if (table_.next(from).empty()) return false;
  const std::vector<Reached>& tree = after(from).reached;
  const auto place = [&](uint32_t block) { return std::ranges::lower_bound(tree, block, {}, &Reached::block); };
  auto at = place(to);
  if (at == tree.end() || at->block != to) return false;
  const size_t first = way.size();
  for (; at->before != from; at = place(at->before)) {
    if (way.size() - first == kMaxBlocksBefore) throw DamagedTrace("its table of blocks has a way that is too long");
    way.push_back(at->before);
  }
  std::reverse(way.begin() + ptrdiff_t(first), way.end());
  return true;
}

void BlockSequence::keep(uint32_t block) {
  if (interrupted_.size() == kMaxInterrupted) {
    leave(interrupted_.front());
    interrupted_.erase(interrupted_.begin());
    ++never_resumed_;
  }
  interrupted_.push_back(block);
}

void BlockSequence::leave(uint32_t block) {
  if (std::ranges::find(left_, block) != left_.end()) return;
  if (left_.size() == kMaxInterrupted) {
    left_.erase(left_.begin());
    has_forgotten_ = true;
  }
  left_.push_back(block);
}

// Whether the block is what comes after something that was interrupted.
bool BlockSequence::resume(uint32_t block, std::vector<uint32_t>& ran) {
  const size_t first = ran.size();
  uint32_t chosen = kNone;
  size_t place = interrupted_.size();  // of the chosen one
  bool is_only_one = true, is_certain = !has_forgotten_ || !table_.is_told_by_ways(block);
  uint64_t most = 0;
  const auto ask = [&](uint32_t from) {
    if (from == chosen) return false;
    std::vector<uint32_t>& way = chosen == kNone ? ran : other_;
    other_.clear();
    if (!ways_.find(from, block, way)) return false;
    const std::span<const uint32_t> found = std::span(way).subspan(chosen == kNone ? first : 0);
    uint64_t instructions = 0;
    for (const uint32_t b : found) instructions += table_.instructions(b);
    most = std::max(most, instructions);
    if (chosen == kNone) {
      chosen = from;
      return true;
    }
    is_only_one = false;
    is_certain &= std::ranges::equal(found, std::span(ran).subspan(first));
    return false;
  };
  for (size_t i = interrupted_.size(); i-- > 0;)
    if (ask(interrupted_[i])) place = i;
  for (size_t i = left_.size(); i-- > 0;) ask(left_[i]);
  if (chosen == kNone) return false;
  if (!is_certain) doubtful_ += most;
  if (!is_only_one) leave(chosen);
  if (place < interrupted_.size()) interrupted_.erase(interrupted_.begin() + ptrdiff_t(place));
  return true;
}

void BlockSequence::lose() {
  last_ = kNone;
  has_gaps_ = has_forgotten_ = true;
}

void BlockSequence::write(uint32_t block, std::vector<uint32_t>& ran) {
  const uint32_t last = last_;
  last_ = block;
  if (last != kNone) {
    if (ways_.find(last, block, ran)) return;
    if (ways_.is_inside(last)) keep(last);
    if (!table_.is_from_outside(block) && resume(block, ran)) return;
    has_gaps_ |= table_.is_told_by_ways(block);
  } else {
    begins_inside_ |= table_.is_told_by_ways(block);
  }
  const size_t first = ran.size();
  for (uint32_t before = table_.before(block); before != 0; before = table_.before(before - 1))
    ran.push_back(before - 1);
  std::reverse(ran.begin() + ptrdiff_t(first), ran.end());
}

// `number`: of the block + 1.
void BlocksDecoder::run(uint64_t number, std::span<const uint64_t> values) {
  const uint64_t block = number - 1;
  if (number == 0 || block >= table_.size()) throw DamagedTrace("a block ran that there is not");
  before_.clear();
  sequence_.write(uint32_t(block), before_);
  for (const uint32_t before : before_)
    if (table_.has_code(before)) take_(before, values);
  if (table_.has_code(block)) take_(block, values);
}

template <class Word>
void BlocksDecoder::numbers(std::string_view bytes) {
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word) run(word, {});
  }
}

void BlocksDecoder::words(std::string_view bytes, unsigned size) {
  if (size == sizeof(uint16_t)) return numbers<uint16_t>(bytes);
  if (size == sizeof(uint32_t)) return numbers<uint32_t>(bytes);
  throw DamagedTrace("its words have no size that they can have");
}

void BlocksDecoder::records(std::string_view bytes) {
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_) + std::string(bytes);
    bytes = joined;
    rest_.clear();
  }
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    const size_t values = word >> kRecordValuesShift & kMaxRecordValues;
    const size_t size = sizeof word + values * sizeof(uint64_t);
    if (size > bytes.size()) break;
    if (word != 0) {
      const bool is_whole = values == 0 || (word & kRecordIsWhole) != 0;
      values_.resize(is_whole ? values : 0);
      if (!values_.empty()) std::memcpy(values_.data(), bytes.data() + sizeof word, values * sizeof(uint64_t));
      run(word & kRecordNumber, values_);
    }
    bytes.remove_prefix(size);
  }
  rest_ = bytes;
}

void BlocksDecoder::end_window() {
  if (!rest_.empty()) throw DamagedTrace("a record goes on past its window");
}

}  // namespace prof
