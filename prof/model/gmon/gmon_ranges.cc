#include "gmon_ranges.h"

#include <elf.h>

#include <algorithm>
#include <set>

namespace prof {

namespace {

constexpr uint64_t kBin = 2;
constexpr uint64_t kMax = 1 << 20;     // bytes of code in a histogram, whatever gprof -c says
constexpr uint64_t kBehind = 1 << 12;  // the same, outside of all functions
constexpr uint64_t kMaxOfAll =
    1 << 28;  // of all histograms; beyond that they are as small as can be: damaged profiles have
              // addresses anywhere

constexpr uint64_t rounded_up(uint64_t address) { return (address + kBin - 1) / kBin * kBin; }

struct Range {
  uint64_t low, high;
};

// The range between borders that an address is in.
Range range_around(uint64_t address, const std::vector<uint64_t>& borders) {
  const auto next = std::upper_bound(borders.begin(), borders.end(), address);
  const bool is_inside = next != borders.begin() && next != borders.end();
  const uint64_t start = next == borders.begin() ? 0 : *std::prev(next);
  const uint64_t size = is_inside ? kMax : kBehind;
  const uint64_t low = start + (address - start) / size * size;
  const uint64_t end = next == borders.end() ? UINT64_MAX : *next;
  return {low, end - low < size ? end : low + size};
}

}  // namespace

std::vector<uint64_t> histogram_borders(const Object& object) {
  std::set<uint64_t> borders;
  uint64_t end = 0;
  const auto add = [&](uint64_t address, uint64_t size) {
    end = std::max(end, rounded_up(address + size));
    // An odd one shares its first bin with the function before it.
    if (address % kBin == 0) borders.insert(address);
  };
  for (const ElfFile& file : object.files())
    for (const Symbol& symbol : file.symbols())
      if (symbol.type == STT_FUNC && symbol.binding == STB_GLOBAL && object.entry_of(symbol.address) == symbol.address)
        add(symbol.address, symbol.size);
  // Without symbols gprof has the names that prof gives it.
  if (object.lacks_symbols())
    for (const prof_format::MapEntry& copy : object.copies())
      if (copy.original == copy.function) add(copy.original, copy.original_size);
  if (end != 0) borders.insert(end);
  return {borders.begin(), borders.end()};
}

std::vector<GmonHistogram> histograms_at(const std::map<uint64_t, uint64_t>& ticks,
                                         const std::vector<uint64_t>& borders, uint32_t rate) {
  std::vector<GmonHistogram> histograms;
  uint64_t all = 0;
  for (const auto& [address, count] : ticks) {
    if (address >= UINT64_MAX - 2 * kMax) continue;
    if (histograms.empty() || address >= histograms.back().high) {
      Range range = range_around(address, borders);
      if (all > kMaxOfAll) range = {address, address + kBin};
      all += range.high - range.low;
      GmonHistogram& fresh = histograms.emplace_back();
      fresh.low = range.low;
      fresh.high = range.high;
      fresh.rate = rate;
      fresh.bins.resize((range.high - range.low) / kBin);
    }
    GmonHistogram& histogram = histograms.back();
    histogram.bins[(address - histogram.low) / kBin] += count;
  }
  return histograms;
}

}  // namespace prof
