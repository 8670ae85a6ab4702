// What the accesses of blocks need, as it looks further on: in which registers that is when others have run (profld --trace=memory).

#ifndef LINKER_REWRITE_BLOCKS_CARRIED_VALUES_H
#define LINKER_REWRITE_BLOCKS_CARRIED_VALUES_H

#include "block_addresses.h"
#include "record_sites.h"

namespace profld {

// Of the blocks of one function.
class CarriedValues {
 public:
  explicit CarriedValues(const RecordSites& sites);

  const BlockAddresses& addresses(uint32_t block) const { return addresses_[block]; }

  // The accesses of a block by what registers hold when the blocks of `way` have run behind it. Nullopt if some value that they need is
  // in none any more. `wanted`: registers that are taken before others.
  std::optional<std::vector<BlockAccess>> accesses_behind(uint32_t block, std::span<const uint32_t> way,
                                                          RegisterSet wanted) const;

 private:
  std::optional<NeededValue> behind(const NeededValue& value, uint32_t block, std::span<const uint32_t> way,
                                    RegisterSet wanted) const;

  std::vector<BlockAddresses> addresses_;  // by block
};

// What a register holds where some code begins.
inline HeldValue value_at_start(uint8_t reg) { return {HeldValue::kFirst + reg, 0}; }

}  // namespace profld

#endif
