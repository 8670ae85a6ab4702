#include "functions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "linker-rewrite/base/parallel.h"
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

std::vector<CodeRange> find_functions(const Image& image, const EhFrame& frames) {
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
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table) {
      if ((s.type != STT_FUNC && s.type != STT_GNU_IFUNC) || s.section == SHN_UNDEF) continue;
      if (!s.name.empty()) named.push_back({s.address, name_rank(s), uint32_t(named.size()), &s});
      OldRange range{s.address, s.address + s.size};
      if (s.size != 0 && s.size < (uint64_t(1) << 31) && !frames.find(s.address) && is_function_code(range))
        found.push_back({.range = range, .names = {}});
    }
  parallel_sort(named);

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
  auto name = named.begin();
  for (CodeRange& r : ranges) {
    while (name != named.end() && name->address < r.range.start) ++name;
    for (; name != named.end() && name->address == r.range.start; ++name)
      if (std::ranges::find(r.names, name->symbol->name) == r.names.end()) r.names.push_back(name->symbol->name);
  }
  return ranges;
}

}  // namespace profld
