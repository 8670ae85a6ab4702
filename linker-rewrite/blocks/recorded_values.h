// The values in a record of profld --trace=memory: what accesses to memory need, in which registers that is, and how the
// addresses are made of them.

#ifndef LINKER_REWRITE_BLOCKS_RECORDED_VALUES_H
#define LINKER_REWRITE_BLOCKS_RECORDED_VALUES_H

#include "block_addresses.h"
#include "block_counters.h"

namespace profld {

// What accesses need in one record.
struct RecordNeeds {
  std::vector<NeededValue> values;
  bool fs = false, flags = false;

  void add(const BlockAccess& access);
  bool operator==(const RecordNeeds&) const = default;
};

// The values of a record before the instruction at a place; nullopt if not all are in registers.
std::optional<std::vector<uint8_t>> values_before(const BlockAddresses& addresses, uint32_t place,
                                                  const RecordNeeds& needs);

// By a record at the place `at`. `first`: the place of the first instruction of the block.
TracedAccess traced_access(const BlockAccess& access, const BlockAddresses& addresses, const RecordCode& record,
                           uint32_t at, uint32_t first);

}  // namespace profld

#endif
