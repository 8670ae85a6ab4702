// Blocks that are cut into parts, each with a record that has the values which its accesses need: see block_parts.cc.

#ifndef LINKER_REWRITE_BLOCKS_BLOCK_PARTS_H
#define LINKER_REWRITE_BLOCKS_BLOCK_PARTS_H

#include "record_sites.h"
#include "recorded_values.h"

namespace profld {

// Instructions of a part, and where its record stands.
struct BlockPart {
  uint32_t first, end;
  CounterPlace place;
};

// `accesses`: of the block, by `addresses`, which begin with it; those for which there is no place become unknown. `needs`: what the
// first record has to have beside. Nullopt if there is no place for some record.
std::optional<std::vector<BlockPart>> cut_block(const RecordSites& sites, uint32_t block,
                                                const BlockAddresses& addresses, std::span<BlockAccess> accesses,
                                                RecordNeeds needs);

}  // namespace profld

#endif
