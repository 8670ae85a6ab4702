#include "block_counts.h"

#include <algorithm>

namespace prof {

namespace {

// Cycles that an increment of a counter takes. A plain one mostly runs beside the function's other work: over whole programs it
// is 0 to 0.25 cycles (the ten of make truth). One with the prefix lock holds all up. Where samples find the program does not tell
// more: they are at the instruction that waits, which is hardly ever the increment and often the one after it, whatever it waits for.
constexpr UncertainCost kIncrement = {0, -0.3, 0.3}, kLockedIncrement = {14, 8, 20};

}  // namespace

void BlockSums::add(const Profile& profile, FunctionTable& functions) {
  for (const ModuleCounters& counters : profile.counters()) {
    const bool is_program = counters.module == 0 && functions.program().is_listed();
    const uint32_t object = is_program ? 0 : functions.library(profile.modules()[counters.module]);
    std::vector<uint64_t>& sums = sums_[object];
    sums.resize(std::max(sums.size(), counters.words.size()));
    for (size_t i = 0; i < counters.words.size(); ++i) sums[i] += counters.words[i];
  }
}

std::vector<BlockCount> BlockSums::finish(const FunctionTable& functions, Listed listed) const {
  std::vector<BlockCount> blocks;
  for (const auto& [object, sums] : sums_) {
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    if (files.empty()) continue;
    for (const BlockRuns& run : block_runs(BlocksSection(files[0]), sums, listed))
      blocks.push_back({object, run.address, run.size, run.count});
  }
  const auto is_before = [](const BlockCount& a, const BlockCount& b) {
    return a.object != b.object ? a.object < b.object : a.address < b.address;
  };
  if (!std::ranges::is_sorted(blocks, is_before)) std::ranges::sort(blocks, is_before);
  return blocks;
}

std::vector<UncertainCost> BlockSums::costs(FunctionTable& functions) const {
  std::vector<UncertainCost> costs;
  for (const auto& [object, sums] : sums_) {
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    if (files.empty()) continue;
    const AllIncrements all = increments(BlocksSection(files[0]), sums);
    for (const Increments& i : all.of_functions) {
      const uint32_t function = functions.at(object, i.entry);
      if (costs.size() <= function) costs.resize(function + 1);
      costs[function].add((all.are_locked ? kLockedIncrement : kIncrement) * double(i.count));
    }
  }
  costs.resize(functions.functions().size());
  return costs;
}

}  // namespace prof
