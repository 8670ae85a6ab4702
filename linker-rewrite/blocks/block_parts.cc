// One value gives the addresses of several accesses; what all registers hold at the place of the record is known.
// Where no place will do for all of a block's accesses, as when a pointer is loaded into the register of the pointer before,
// the block is cut into parts, each with a record of its own: into as few as possible, since a part grows as long as there is
// a place in it where all values that it needs are in registers.

#include "block_parts.h"

#include <algorithm>

namespace profld {

namespace {

// Longer parts would take too long to go through, and more values too many registers.
constexpr uint32_t kLongestPart = 64;  // instructions
constexpr size_t kMostValues = 32;     // in a record

class Cutting {
 public:
  Cutting(const RecordSites& sites, uint32_t block, const BlockAddresses& addresses)
      : sites_(sites), block_(sites.graph().blocks()[block]), addresses_(addresses), live_(sites.live_in(block)) {}

  std::optional<std::vector<BlockPart>> cut(std::span<BlockAccess> accesses, RecordNeeds needs) const {
    std::vector<Part> parts{{block_.first, block_.first, std::move(needs), {}}};
    size_t a = 0;
    for (uint32_t i = block_.first; i < block_.end; ++i) {
      const size_t first = a;
      while (a < accesses.size() && accesses[a].place == i - block_.first) ++a;
      const std::span<BlockAccess> own = accesses.subspan(first, a - first);
      const bool is_long = i - parts.back().first >= kLongestPart && !parts.back().before.empty();
      if (!is_long && add_to(parts.back(), i, own)) continue;
      Part next{i, i, {}, {}};
      if (!parts.back().before.empty() && add_to(next, i, own) && !next.before.empty()) {
        parts.push_back(std::move(next));
        continue;
      }
      if (is_long && add_to(parts.back(), i, own)) continue;
      for (BlockAccess& access : own)
        if (access.needs_values()) access = access.unknown();
      add_to(parts.back(), i, own);
    }
    std::vector<BlockPart> placed;
    for (const Part& part : parts) {
      std::optional<CounterPlace> best;
      for (uint32_t i = part.end; i-- > part.first;) keep_better(best, i, code_before(i, part.needs));
      if (!best) return std::nullopt;
      placed.push_back({part.first, part.end, std::move(*best)});
    }
    return placed;
  }

 private:
  // `before`: the instructions of it before which its record may stand.
  struct Part {
    uint32_t first, end;
    RecordNeeds needs;
    std::vector<uint32_t> before;
  };

  std::optional<RecordCode> code_before(uint32_t i, const RecordNeeds& needs) const {
    const uint32_t place = i - block_.first;
    if (!sites_.may_stand_before(block_, i)) return std::nullopt;
    std::optional<std::vector<uint8_t>> values = values_before(addresses_, place, needs);
    if (!values) return std::nullopt;
    return sites_.code_at(block_.part, i, live_.flags[place], live_.registers[place], std::move(*values));
  }

  // Puts the instruction `at` into the part. False if there is no room for its values beside those that the part has.
  bool add_to(Part& part, uint32_t at, std::span<const BlockAccess> accesses) const {
    RecordNeeds needs = part.needs;
    for (const BlockAccess& access : accesses) needs.add(access);
    if (needs.values.size() > kMostValues) return false;
    std::vector<uint32_t> before = part.before;
    if (needs != part.needs) std::erase_if(before, [&](uint32_t i) { return !code_before(i, needs); });
    if (code_before(at, needs)) before.push_back(at);
    if (before.empty() && std::ranges::any_of(accesses, &BlockAccess::needs_values)) return false;
    part.needs = std::move(needs);
    part.before = std::move(before);
    part.end = at + 1;
    return true;
  }

  const RecordSites& sites_;
  const BasicBlock& block_;
  const BlockAddresses& addresses_;
  const RecordSites::Live live_;
};

}  // namespace

std::optional<std::vector<BlockPart>> cut_block(const RecordSites& sites, uint32_t block,
                                                const BlockAddresses& addresses, std::span<BlockAccess> accesses,
                                                RecordNeeds needs) {
  return Cutting(sites, block, addresses).cut(accesses, std::move(needs));
}

}  // namespace profld
