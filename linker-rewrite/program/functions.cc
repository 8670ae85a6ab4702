#include "functions.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

// A lower rank is a better name for a function.
int name_rank(const Symbol& s) {
  int rank = s.binding == STB_GLOBAL ? 0 : s.binding == STB_WEAK ? 1 : 2;
  if (s.name.starts_with("_")) rank += 4;
  return rank;
}

// The end of the code that starts there: of the first instruction after which control does not go on, and that no
// branch before it leads over. Nullopt if that is not up to `limit`, or not all of it is code.
std::optional<OldAddr> end_of_code(const Image& image, OldAddr start, OldAddr limit) {
  OldAddr led_to = start;
  for (OldAddr at = start; at < limit;) {
    const auto bytes = image.bytes(at, limit - at);
    const CachedInsn* in = bytes ? DecodeCache::of_this_thread().find(*bytes) : nullptr;
    if (!in || in->unusable) return std::nullopt;
    const Insn& insn = in->insn;
    if (insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short) {
      const OldAddr target = Code{{at, limit}, *bytes, {}, {}}.target(insn);
      if (target < limit) led_to = std::max(led_to, target);
    }
    at += insn.length;
    if (at == limit || (in->ends_control() && at > led_to)) return at;
  }
  return std::nullopt;
}

// Whether the last instruction of a range goes on with the next. (A call at the end is one that does not return.)
bool runs_on(const Image& image, OldRange range) {
  const Expected<Code, Reason> code = decode(image, range);
  if (!code || code->insns.empty()) return false;
  const Flow last = code->insns.back().flow;
  return last == Flow::next || last == Flow::jump_if || last == Flow::jump_if_short;
}

bool is_filled_up(const Image& image, OldAddr at, OldAddr limit) {
  const auto bytes = image.bytes(at, limit - at);
  const CachedInsn* in = bytes ? DecodeCache::of_this_thread().find(*bytes) : nullptr;
  return !in || in->is_no_operation();
}

// See find_functions. `starts`: of functions that symbols without a size name, ascending.
void include_task_calls(const Image& image, const std::vector<OldAddr>& starts, std::vector<CodeRange>& ranges) {
  std::vector<CodeRange> more;
  std::vector<OldAddr> named;  // by symbols of any kind
  for (const Symbol& s : image.symbols())
    if (s.section != SHN_UNDEF) named.push_back(s.address);
  sort_unique(named);
  const auto limit_of = [&](OldAddr a, OldAddr next_range) {
    const auto code = std::ranges::find_if(image.code(), [&](OldRange c) { return c.contains(a); });
    const OldAddr limit = code == image.code().end() ? a : std::min(code->end, next_range);
    const auto next = std::ranges::upper_bound(named, a);
    return next == named.end() ? limit : std::min(limit, *next);
  };
  constexpr OldAddr kEnd(UINT64_MAX);
  auto start = starts.begin();
  const auto add_up_to = [&](OldAddr range) {
    for (; start != starts.end() && *start < range; ++start)
      if (const auto end = end_of_code(image, *start, limit_of(*start, range)))
        more.push_back({{*start, *end}, nullptr, {}});
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    OldRange& range = ranges[i].range;
    add_up_to(range.start);
    const OldAddr limit = limit_of(range.end, i + 1 < ranges.size() ? ranges[i + 1].range.start : kEnd);
    const bool is_named = std::ranges::binary_search(named, range.end);
    if (limit > range.end && !is_named && !is_filled_up(image, range.end, limit) && runs_on(image, range))
      range.end = end_of_code(image, range.end, limit).value_or(range.end);
    while (start != starts.end() && *start < range.end) ++start;
  }
  add_up_to(kEnd);
  ranges.insert(ranges.end(), more.begin(), more.end());
  std::ranges::sort(ranges, {}, [](const CodeRange& r) { return r.range.start; });
}

}  // namespace

std::vector<OldRange> linkage_stubs(const Image& image) {
  std::vector<OldRange> stubs;
  for (const Section& s : image.sections())
    if (s.name == ".plt" || s.name.starts_with(".plt.") || s.name == ".iplt")
      stubs.push_back({OldAddr(s.header.sh_addr), OldAddr(s.header.sh_addr + s.header.sh_size)});
  return stubs;
}

bool is_number_before_function(const Image& image, OldRange range) {
  const auto bytes = image.bytes(range.start, range.size());
  unsigned numbers = 0;
  for (size_t at = 0; bytes && at < bytes->size();) {
    const CachedInsn* in = DecodeCache::of_this_thread().find(bytes->subspan(at));
    if (!in) return false;
    if (!in->is_no_operation()) {
      if (!number_moved_to_eax(bytes->subspan(at, in->insn.length))) return false;
      ++numbers;
    }
    at += in->insn.length;
  }
  return numbers == 1;
}

std::vector<CodeRange> find_functions(const Image& image, const EhFrame& frames, TaskCalls task_calls) {
  const std::vector<OldRange> stubs = linkage_stubs(image);
  auto is_function_code = [&](OldRange r) {
    return image.is_code(r.start) && image.bytes(r.start, r.size()) &&
           std::ranges::none_of(stubs, [&](OldRange s) { return s.contains(r.start); });
  };

  std::vector<CodeRange> found;
  found.reserve(frames.fdes.size());
  for (const Fde& f : frames.fdes)
    if (is_function_code(f.range)) found.push_back({.range = f.range, .fde = &f, .names = {}});

  // In this order the best name of an address comes first; among equally good ones, the first in the file.
  struct Named {
    OldAddr address;
    int rank;
    uint32_t number;
    const Symbol* symbol;
    bool operator<(const Named& o) const {
      return std::tie(address, rank, number) < std::tie(o.address, o.rank, o.number);
    }
  };
  std::vector<Named> named;
  std::vector<OldAddr> without_size;
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table) {
      if ((s.type != STT_FUNC && s.type != STT_GNU_IFUNC) || s.section == SHN_UNDEF) continue;
      if (!s.name.empty()) named.push_back({s.address, name_rank(s), uint32_t(named.size()), &s});
      OldRange range{s.address, s.address + s.size};
      if (s.size == 0 && is_function_code({s.address, s.address + 1})) without_size.push_back(s.address);
      if (s.size != 0 && s.size < (uint64_t(1) << 31) && !frames.find(s.address) && is_function_code(range))
        found.push_back({.range = range, .names = {}});
    }
  parallel_sort(named);
  sort_unique(without_size);

  const auto order = [](const CodeRange& a, const CodeRange& b) {
    return a.range.start != b.range.start ? a.range.start < b.range.start : a.fde && !b.fde;
  };
  if (!std::ranges::is_sorted(found, order)) std::ranges::stable_sort(found, order);
  std::vector<CodeRange> ranges;
  ranges.reserve(found.size());
  const auto starts = [&](OldAddr a) {
    const auto r = std::ranges::lower_bound(found, a, {}, [](const CodeRange& c) { return c.range.start; });
    return r != found.end() && r->range.start == a;
  };
  for (CodeRange& r : found) {
    if (!r.fde && starts(r.range.end) && is_number_before_function(image, r.range)) continue;
    if (!ranges.empty() && r.range.start < ranges.back().range.end) {
      ranges.back().range.end = std::max(ranges.back().range.end, r.range.end);
      if (!ranges.back().fde) ranges.back().fde = r.fde;
    } else {
      ranges.push_back(std::move(r));
    }
  }
  if (task_calls == TaskCalls::move) include_task_calls(image, without_size, ranges);
  auto name = named.begin();
  for (CodeRange& r : ranges) {
    while (name != named.end() && name->address < r.range.start) ++name;
    for (; name != named.end() && name->address == r.range.start; ++name)
      if (std::ranges::find(r.names, name->symbol->name) == r.names.end()) r.names.push_back(name->symbol->name);
  }
  return ranges;
}

}  // namespace profld
