#include "recorded_values.h"

#include <algorithm>

#include "libprof/format/trace.h"

namespace profld {

void RecordNeeds::add(const BlockAccess& access) {
  for (const std::optional<NeededValue>& value : {access.base, access.index, access.count})
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  fs |= access.needs_fs;
  flags |= access.needs_flags;
}

std::optional<std::vector<uint8_t>> values_before(const BlockAddresses& addresses, uint32_t place,
                                                  const RecordNeeds& needs) {
  if (needs.flags && !addresses.has_first_direction(place)) return std::nullopt;
  std::vector<uint8_t> values;
  for (const NeededValue& needed : needs.values) {
    const uint8_t reg = addresses.holder(place, needed);
    if (reg == kNoRegister) return std::nullopt;
    if (std::ranges::find(values, reg) == values.end()) values.push_back(reg);
  }
  if (needs.fs) values.push_back(kFsBase);
  if (needs.flags) values.push_back(kProcessorFlags);
  return values;
}

TracedAccess traced_access(const BlockAccess& access, const BlockAddresses& addresses, const RecordCode& record,
                           uint32_t at, uint32_t first) {
  TracedAccess to;
  to.instruction = access.place - first;
  to.size = access.size;
  to.flags = access.flags;
  to.form = access.form;
  uint64_t addend = uint64_t(access.addend);
  const auto place_of = [&](uint8_t value) {
    return uint16_t(std::ranges::find(record.values, value) - record.values.begin());
  };
  // Where the value is, and what it is away from that which is needed.
  const auto take = [&](uint16_t& place, const std::optional<NeededValue>& needed, unsigned scale) {
    if (!needed) return;
    const uint8_t reg = addresses.holder(at, *needed);
    place = place_of(reg);
    uint64_t distance = uint64_t(needed->value.offset) - uint64_t(addresses.before(at)[reg].offset);
    if (reg == kRsp) distance += depth_of_values(record);
    addend += distance << scale;
  };
  take(to.base, access.base, 0);
  take(to.index, access.index, access.form & prof_format::kAddressScale);
  take(to.count, access.count, 0);
  if (access.needs_fs) to.segment = place_of(kFsBase);
  if (access.needs_flags) to.index = place_of(kProcessorFlags);
  to.addend = int64_t(addend);
  return to;
}

}  // namespace profld
