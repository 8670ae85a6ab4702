// How long is a jump table? Nothing says so. A comparison of the index, where one is found, gives the entries that
// there must be. Beyond them, or without one, entries are taken as long as they make sense: too many are harmless in a
// clone, which nobody else reads; one too few is a jump to nowhere.

#include "table_entries.h"

#include <algorithm>

#include "abstract_state.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"

namespace profld {

namespace {

constexpr uint64_t kMaxEntries = 1 << 16;
// A table may be addressed from below its start, if its lowest index is not 0; the bytes there are no addresses of
// code.
constexpr uint64_t kMaxLowestIndex = 32;
// The comparison that was found may not be the one that guards the jump. So more entries are read than it asks for:
// this many, and as many again as it asks for.
constexpr uint64_t kEntriesBeyond = 16;

uint64_t target_of(const uint8_t* entry, const TableForm& form) {
  const uint64_t v = read_entry(entry, form.size, form.sign_extended);
  return form.relative ? form.base.value + v : v;
}

OldAddr next_object(const DataReferences& data, OldAddr after) {
  auto it = std::ranges::upper_bound(data.object_starts, after);
  return it != data.object_starts.end() ? *it : OldAddr(UINT64_MAX);
}

}  // namespace

bool is_possible_target(const PartsByAddress& parts, OldAddr a) {
  if (parts.has_instruction_at(a)) return true;
  const Code* before = parts.part(a - 1);
  return before && before->range.end == a;
}

bool is_label(const EhFrame& frames, const PartsByAddress& parts, OldAddr a) {
  const Code* part = parts.part(a);
  if (!part) return false;
  if (a != part->range.start) return part->index(a).has_value();
  const Fde* fde = frames.find(a);
  return a != parts.function().entry && fde && fde->range.start == a && !fde->cfa_is_rsp_plus_8;  // a fragment's start
}

bool begins_like_table(const Image& image, const PartsByAddress& parts, const TableForm& form) {
  const ByteView bytes = image.bytes_from(form.first);
  for (uint64_t i = 0; i < 2 && (i + 1) * form.size <= bytes.size(); ++i) {
    const OldAddr target(target_of(bytes.data() + i * form.size, form));
    if (is_possible_target(parts, target) || (form.relative && i == 0 && image.is_code(target))) return true;
  }
  return false;
}

TableEntries read_table(const Image& image, const DataReferences& data, const PartsByAddress& parts,
                        const TableForm& form, uint64_t bound, bool exact) {
  TableEntries result;
  const FunctionCode& function = parts.function();
  const ByteView bytes = image.bytes_from(form.first);
  const uint64_t available = std::min<uint64_t>(bytes.size() / form.size, kMaxEntries);
  auto target = [&](uint64_t i) { return OldAddr(target_of(bytes.data() + i * form.size, form)); };
  auto is_valid = [&](uint64_t i) { return is_possible_target(parts, target(i)); };

  uint64_t first = 0;
  const uint64_t last_first = std::min({available, bound == kNoBound ? kMaxLowestIndex : bound, kMaxLowestIndex});
  while (first < last_first && !is_valid(first) && !image.is_code(target(first))) ++first;
  uint64_t end = first;
  const OldAddr next = next_object(data, form.first);
  while (end < available) {
    if (bound != kNoBound && end > bound &&
        (!exact || form.first + end * form.size >= next || end > bound * 2 + kEntriesBeyond))
      break;
    if (!is_valid(end)) break;
    ++end;
  }
  auto fails = [&](ReasonCode code, OldAddr outside = OldAddr()) {
    result.why = {{code, form.first}, outside};
    return result;
  };
  // Up to `required_end`, or the last entry that leads into the function, with few between.
  auto entries_elsewhere = [&](uint64_t from, uint64_t required_end) {
    std::vector<OldAddr> found, taken;
    uint64_t last = std::max(from, required_end);
    for (uint64_t i = from; i < available && i < last + kEntriesBeyond && image.is_code(target(i)); ++i) {
      if (i >= required_end && form.first + i * form.size >= next) break;
      if (!is_valid(i)) taken.push_back(target(i));
      if (!is_valid(i) && i >= required_end) continue;
      last = i + 1;
      found.insert(found.end(), taken.begin(), taken.end());
      taken.clear();
    }
    sort_unique(found);
    return found;
  };
  const bool required = exact && bound != kNoBound && end <= bound;
  const bool complete = bound != kNoBound && end > bound;
  if (end < available && !complete && image.is_code(target(end)) && (required || form.first + end * form.size < next)) {
    // Either this leads to a fragment that is not known to belong to the function, or this is no table.
    bool more = end > first;
    for (uint64_t i = end; i <= bound && i < std::min(available, end + kEntriesBeyond); ++i) more |= is_valid(i);
    if (more) {
      fails(ReasonCode::table_leads_out, target(end));
      const uint64_t required_end = required ? std::min(available, bound + 1) : 0;
      result.why->elsewhere = entries_elsewhere(end, required_end);
      result.between = entries_elsewhere(end, 0);
    }
    constexpr uint64_t kMostPerhaps = 256;
    for (uint64_t i = end; i < std::min(available, end + kMostPerhaps) && image.is_code(target(i)); ++i) {
      if (form.first + i * form.size >= next) break;
      if (!is_valid(i)) result.perhaps.push_back(target(i));
    }
    if (more) return result;
  }
  result.foreign = end == first;
  if (end == first) return fails(ReasonCode::table_without_entry);
  if (required) return fails(ReasonCode::table_entry_leads_out);
  bool inside = false;
  result.targets.resize(first, function.parts.front().range.end);
  for (uint64_t i = first; i < end; ++i) {
    result.targets.push_back(target(i));
    inside |= target(i) != function.entry;
  }
  if (!inside) {
    result.targets.clear();
    result.foreign = true;
    return fails(ReasonCode::table_of_entry_only);
  }
  result.likely = exact && bound != kNoBound ? std::min(end, bound + 1)
                                             : std::clamp((next - form.first) / form.size, first + 1, end);
  return result;
}

}  // namespace profld
