// How long is a jump table? Nothing says so. A comparison of the index, where one is found, gives the entries that
// there must be. Beyond them, or without one, entries are taken as long as they make sense: too many are harmless in a
// clone, which nobody else reads; one too few is a jump to nowhere.
//
// Nor does anything say where it begins. A switch over -3 to 3 whose default cannot be reached has no comparison, and
// its index is added to the address of its fourth entry; one over 3 to 9, to an address three entries in front of the
// table, where other data lies. An address that the code names is in the table, or its entry 0 would be. So entries are
// looked for around there, and read upwards, and downwards unless the index is known not to be negative. All entries of
// a table lead into its function. So it begins after a word that leads into another function. If such a word leads to
// code of which it is not known whose it is, that may be the function's, and the table is not understood.
//
// But entries that are distances are counted from the table's label by all compilers, which is where it begins. In
// front of it often lies the table of another switch, and what is read there leads to code nearby: in a stripped
// program to a function that only pointers lead to, of which nothing says that it is one.

#include "table_entries.h"

#include <algorithm>

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
// An entry 0 that does not exist may be so far from those that do, in words.
constexpr uint64_t kWidestGap = 256;

uint64_t target_of(const uint8_t* entry, const TableForm& form) {
  const uint64_t v = read_entry(entry, form.size, form.sign_extended);
  return form.relative ? form.base.value + v : v;
}

// Where a word leads, read as an entry.
enum class Word : uint8_t {
  entry,    // into the function
  nowhere,  // to no code
  start,    // to another function: no entry of a table, but perhaps one of an array of pointers to functions
  inside,   // into the middle of another function, or of an instruction: no entry of either
  unknown,  // to code that may be the function's
};

Word word_of(const TableSource& source, OldAddr target) {
  if (is_possible_target(source.parts, target)) return Word::entry;
  if (!source.image.is_code(target)) return Word::nowhere;
  if (source.parts.part(target)) return Word::inside;
  const auto after = std::ranges::upper_bound(source.data.known_code, target, {}, &OldRange::start);
  if (after == source.data.known_code.begin()) return Word::unknown;
  const OldRange& range = *std::prev(after);
  if (!range.contains(target)) return Word::unknown;
  return target == range.start ? Word::start : Word::inside;
}

// Of the entry with that index.
Word word_at(const TableSource& source, const TableForm& form, int64_t index, OldAddr& target) {
  const auto bytes = source.image.bytes(form.at(index), form.size);
  if (!bytes) return Word::nowhere;
  target = OldAddr(target_of(bytes->data(), form));
  return word_of(source, target);
}

// Where an object begins; what the function reads without an index is no start of one, but one of the entries.
OldAddr next_object(const TableSource& source, OldAddr after) {
  auto it = std::ranges::upper_bound(source.data.object_starts, after);
  while (it != source.data.object_starts.end() && std::ranges::binary_search(source.read, *it)) ++it;
  return it != source.data.object_starts.end() ? *it : OldAddr(UINT64_MAX);
}

OldAddr last_object_before(const TableSource& source, OldAddr a) {
  auto it = std::ranges::lower_bound(source.data.object_starts, a);
  while (it != source.data.object_starts.begin() && std::ranges::binary_search(source.read, *std::prev(it))) --it;
  return it != source.data.object_starts.begin() ? *std::prev(it) : OldAddr();
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

namespace {

// The entries from form.first on. `bound` is the greatest index, kNoBound if not known. If it is `exact`, a table must
// not have fewer entries. `is_certain`: a jump reads there, so that the first entry may be further on, and gaps between
// entries.
TableEntries read_upwards(const TableSource& source, const TableForm& form, uint64_t bound, bool exact,
                          bool is_certain) {
  TableEntries result;
  const Image& image = source.image;
  const FunctionCode& function = source.parts.function();
  const ByteView bytes = image.bytes_from(form.first);
  const uint64_t available = std::min<uint64_t>(bytes.size() / form.size, kMaxEntries);
  auto target = [&](uint64_t i) { return OldAddr(target_of(bytes.data() + i * form.size, form)); };
  auto is_valid = [&](uint64_t i) { return is_possible_target(source.parts, target(i)); };

  uint64_t first = 0;
  const uint64_t last_first = std::min({available, bound == kNoBound ? kMaxLowestIndex : bound, kMaxLowestIndex});
  while (first < last_first && !is_valid(first) && !image.is_code(target(first))) ++first;
  const auto next_entry = [&](uint64_t from, uint64_t to, Word skipped) {
    for (uint64_t i = from; i < std::min(to, available); ++i) {
      const Word word = word_of(source, target(i));
      if (word == Word::entry) return i;
      if (word != Word::nowhere && word != skipped) break;
    }
    return from;
  };
  if (is_certain && first < available && !is_valid(first)) {
    const uint64_t further = next_entry(0, std::min(kWidestGap, bound), Word::inside);
    if (further != 0) first = further;
  }
  uint64_t end = first;
  const OldAddr next = next_object(source, form.first + first * form.size);
  while (end < available) {
    if (bound != kNoBound && end > bound &&
        (!exact || form.first + end * form.size >= next || end > bound * 2 + kEntriesBeyond))
      break;
    if (!is_valid(end)) {
      if (!is_certain || bound != kNoBound || end == first || form.first + end * form.size >= next) break;
      const uint64_t further =
          next_entry(end, std::min(end + kWidestGap, (next - form.first) / form.size), Word::nowhere);
      if (further == end) break;
      end = further;
    }
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
    // Either this leads to a fragment that is not known to belong to the function, or this is no table; or here begins
    // the table of another function, which may name no address in it but that of an entry 0 that it has elsewhere.
    const bool is_other_table =
        is_certain && !required && !form.relative && word_of(source, target(end)) == Word::inside;
    bool more = end > first && !is_other_table;
    for (uint64_t i = end; i <= bound && i < std::min(available, end + kEntriesBeyond); ++i) more |= is_valid(i);
    if (more) {
      fails(ReasonCode::table_leads_out, target(end));
      const uint64_t required_end = required ? std::min(available, bound + 1) : 0;
      result.why->elsewhere = entries_elsewhere(end, required_end);
      result.between = entries_elsewhere(end, 0);
    }
    constexpr uint64_t kMaxPerhaps = 256;
    for (uint64_t i = end; i < std::min(available, end + kMaxPerhaps) && image.is_code(target(i)); ++i) {
      if (form.first + i * form.size >= next) break;
      if (!is_valid(i)) result.perhaps.push_back(target(i));
    }
    if (more) return result;
  }
  result.foreign = end == first;
  if (end == first) return fails(ReasonCode::table_without_entry);
  if (required) return fails(ReasonCode::table_entry_leads_out);
  const OldAddr cannot_happen = function.parts.front().range.end;
  result.targets.resize(first, cannot_happen);
  for (uint64_t i = first; i < end; ++i) result.targets.push_back(is_valid(i) ? target(i) : cannot_happen);
  result.likely = exact && bound != kNoBound ? std::min(end, bound + 1)
                                             : std::clamp((next - form.first) / form.size, first + 1, end);
  return result;
}

// The entries in front of index `start`, down to index `lowest`, last first.
struct EntriesBelow {
  std::vector<OldAddr> targets;
  uint64_t gap = 0;    // so many words are between them and `start`
  OldAddr doubtful{};  // where a word in front of them leads that may be an entry; 0 if there is none
};

// `may_have_gap`: the word at `start` is no entry, so they may be further down.
EntriesBelow read_downwards(const TableSource& source, const TableForm& form, int64_t start, int64_t lowest,
                            bool may_have_gap) {
  EntriesBelow below;
  const OldAddr cannot_happen = source.parts.function().parts.front().range.end;
  const OldAddr object = last_object_before(source, form.at(start));
  uint64_t skipped = 0;
  for (int64_t i = start - 1; i >= lowest; --i) {
    OldAddr target;
    const Word word = word_at(source, form, i, target);
    if (word == Word::entry) {
      if (below.targets.empty())
        below.gap = skipped;
      else
        below.targets.insert(below.targets.end(), skipped, cannot_happen);
      skipped = 0;
      below.targets.push_back(target);
      continue;
    }
    if (may_have_gap && below.targets.empty()) {
      if ((word != Word::nowhere && word != Word::inside) || ++skipped > kWidestGap) break;
      continue;
    }
    if (form.at(i) < object) break;
    if (word == Word::unknown && skipped == 0) below.doubtful = target;
    if (word != Word::nowhere || ++skipped > kEntriesBeyond) break;
  }
  return below;
}

}  // namespace

bool may_be_table(const TableSource& source, const TableForm& form) {
  const TableEntries entries = read_upwards(source, form, kNoBound, false, false);
  OldAddr below;
  return word_at(source, form, -1, below) == Word::entry || std::ranges::any_of(entries.targets, [&](OldAddr a) {
           return a != source.parts.function().entry && a != source.parts.function().parts.front().range.end;
         });
}

TableEntries read_table(const TableSource& source, const TableForm& form, const IndexRange& index, OldAddr named) {
  const OldAddr cannot_happen = source.parts.function().parts.front().range.end;
  int64_t start = int64_t(named.value - form.first.value) / form.size;
  const bool is_possible = start >= 0 ? uint64_t(start) <= std::min(index.greatest, kMaxEntries)
                                      : index.may_be_negative && start >= -int64_t(kMaxEntries);
  if (!is_possible) start = 0;
  TableForm upwards = form;
  upwards.first = form.at(start);
  const uint64_t bound = index.greatest == kNoBound ? kNoBound : index.greatest - uint64_t(start);
  TableEntries result = read_upwards(source, upwards, bound, index.exact, true);
  result.lowest = start;
  const int64_t lowest = index.may_be_negative ? start - int64_t(kMaxEntries) : 0;
  if (lowest < start && (!result.why || result.foreign)) {
    OldAddr target;
    const Word at_start = word_at(source, form, start, target);
    const bool may_have_gap = at_start == Word::nowhere || at_start == Word::inside;
    const EntriesBelow below = read_downwards(source, form, start, lowest, may_have_gap);
    // Then it is no array of functions either.
    result.foreign &= at_start != Word::inside;
    // Either words that lead elsewhere are entries, of an array of functions or of this table, or those below are.
    const bool contradict = result.foreign && !may_have_gap && !below.targets.empty();
    const bool begins_here = form.relative && form.at(start) == form.base && at_start == Word::entry;
    if (contradict || (!result.foreign && below.doubtful != OldAddr() && !begins_here)) {
      result = {};
      result.why = {{ReasonCode::table_leads_out, form.first}, below.doubtful};
      return result;
    }
    if (!below.targets.empty()) {
      if (result.targets.empty())
        result = {};
      else
        result.targets.insert(result.targets.begin(), below.gap, cannot_happen);
      result.targets.insert(result.targets.begin(), below.targets.rbegin(), below.targets.rend());
      const uint64_t added = below.gap + below.targets.size();
      result.likely = std::min(result.likely + added, result.targets.size());
      result.lowest = start - int64_t(added);
    }
  }
  const bool leads_inside = std::ranges::any_of(
      result.targets, [&](OldAddr a) { return a != source.parts.function().entry && a != cannot_happen; });
  if (!result.targets.empty() && !leads_inside) {
    result = {};
    result.foreign = true;
    result.why = {{ReasonCode::table_of_entry_only, form.first}, OldAddr()};
  }
  return result;
}

}  // namespace profld
