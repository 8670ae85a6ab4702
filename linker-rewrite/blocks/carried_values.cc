// BlockAddresses tells for each block by itself what it leaves in registers: what another one held where it began, and a number
// more, or something new. So a value is followed from block to block as the set of the registers that hold it, each with the
// number that has to be taken off.

#include "carried_values.h"

#include <bit>

namespace profld {

CarriedValues::CarriedValues(const RecordSites& sites) {
  for (const BasicBlock& block : sites.graph().blocks())
    addresses_.emplace_back().append(sites.group().code.parts[block.part], block.first, block.end);
}

std::optional<NeededValue> CarriedValues::behind(const NeededValue& value, uint32_t block,
                                                 std::span<const uint32_t> way, RegisterSet wanted) const {
  struct Held {
    RegisterSet registers = 0;
    std::array<uint64_t, kRegisters> more{};  // than the origin of the value
  };
  Held held;
  const auto take = [&](Held& to, uint8_t reg, uint64_t more) {
    to.registers = RegisterSet(to.registers | 1u << reg);
    to.more[reg] = more;
  };
  const BlockAddresses& own = addresses_[block];
  for (uint8_t reg = 0; reg < kRegisters; ++reg) {
    const HeldValue& now = own.before(own.size())[reg];
    if (now.origin == value.value.origin) take(held, reg, uint64_t(now.offset));
  }
  for (const uint32_t b : way) {
    Held next;
    for (uint8_t reg = 0; reg < kRegisters; ++reg) {
      const HeldValue& now = addresses_[b].before(addresses_[b].size())[reg];
      const uint32_t from = now.origin - HeldValue::kFirst;
      if (now.origin >= HeldValue::kFirst && from < kRegisters && (held.registers >> from & 1))
        take(next, reg, held.more[from] + uint64_t(now.offset));
    }
    held = next;
  }
  if (value.is_exact)
    for (uint8_t reg = 0; reg < kRegisters; ++reg)
      if (held.more[reg] != uint64_t(value.value.offset)) held.registers = RegisterSet(held.registers & ~(1u << reg));
  if (held.registers == 0) return std::nullopt;
  const RegisterSet best = held.registers & wanted ? RegisterSet(held.registers & wanted) : held.registers;
  const auto reg = uint8_t(std::countr_zero(best));
  HeldValue there = value_at_start(reg);
  there.offset = int64_t(uint64_t(value.value.offset) - held.more[reg]);
  return NeededValue{there, value.is_exact};
}

std::optional<std::vector<BlockAccess>> CarriedValues::accesses_behind(uint32_t block, std::span<const uint32_t> way,
                                                                       RegisterSet wanted) const {
  std::vector<BlockAccess> accesses = addresses_[block].accesses();
  for (BlockAccess& access : accesses) {
    if (access.needs_fs || access.needs_flags) return std::nullopt;
    for (std::optional<NeededValue>* value : {&access.base, &access.index, &access.count}) {
      if (!*value) continue;
      *value = behind(**value, block, way, wanted);
      if (!*value) return std::nullopt;
    }
  }
  return accesses;
}

}  // namespace profld
