// How often instructions ran, from the counts of their basic blocks.

#ifndef PROF_MODEL_BLOCKS_EXECUTIONS_H
#define PROF_MODEL_BLOCKS_EXECUTIONS_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "prof/model/tree/block_counts.h"

namespace prof {

class Executions {
 public:
  // `blocks`: by object and address. They must outlive this.
  explicit Executions(const std::vector<BlockCount>& blocks) : blocks_(blocks) {}

  // Blocks were counted at all: the program was rewritten with profld -b.
  bool are_known() const { return !blocks_.empty(); }

  // Those of an object.
  bool are_known(uint32_t object) const {
    const auto after = first_after(object, UINT64_MAX);
    return after != blocks_.begin() && std::prev(after)->object == object;
  }

  // Of the instruction at an address (link-time, in the original); nothing if no block that was counted has it.
  std::optional<uint64_t> at(uint32_t object, uint64_t address) const {
    const BlockCount* block = block_at(object, address);
    return block ? std::optional(block->count) : std::nullopt;
  }

  // The block that an address is in; null if none was counted.
  const BlockCount* block_at(uint32_t object, uint64_t address) const {
    const auto after = first_after(object, address);
    if (after == blocks_.begin()) return nullptr;
    const BlockCount& block = *std::prev(after);
    return block.object == object && address - block.address < block.size ? &block : nullptr;
  }

  // The blocks that begin in a range of addresses.
  std::span<const BlockCount> within(uint32_t object, uint64_t start, uint64_t end) const {
    const auto first = start == 0 ? first_after(object, 0) : first_after(object, start - 1);
    const auto last = end == 0 ? first : first_after(object, end - 1);
    return {first, last};
  }

 private:
  std::vector<BlockCount>::const_iterator first_after(uint32_t object, uint64_t address) const {
    return std::upper_bound(blocks_.begin(), blocks_.end(), address, [object](uint64_t a, const BlockCount& block) {
      return block.object != object ? object < block.object : a < block.address;
    });
  }

  const std::vector<BlockCount>& blocks_;
};

}  // namespace prof

#endif
