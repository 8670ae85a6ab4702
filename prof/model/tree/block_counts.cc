#include "block_counts.h"

#include <algorithm>
#include <tuple>

namespace prof {

namespace {

// Cycles that an increment of a counter takes. A plain one mostly runs beside the function's other work: over whole
// programs it is 0 to 0.3 cycles, kMeanIncrement in the mean (the ten of make truth). Which functions take longer is
// not known: those with the most increments may have time for them, and tight loops hardly any. So the sum is taken off
// all functions that have counters, each by its time, and the range says the rest. One with the prefix lock holds all
// up. Where samples find the program does not tell more: they are at the instruction that waits, which is hardly ever
// the increment and often the one after it, whatever it waits for.
constexpr UncertainCost kIncrement = {0, -0.3, 0.4}, kLockedIncrement = {14, 8, 20};
constexpr double kMeanIncrement = 0.15;
// Of one that was locked because there were several threads. If two of them increment one counter in turn, its memory
// goes from one processor to the other: sort's took 110, those of threads in Python, of which one runs at a time, 12.
constexpr UncertainCost kSharedIncrement = {30, 8, 130};

}  // namespace

static void add_to(std::vector<uint64_t>& sums, const std::vector<uint64_t>& words) {
  sums.resize(std::max(sums.size(), words.size()));
  for (size_t i = 0; i < words.size(); ++i) sums[i] += words[i];
}

void BlockSums::add(const Profile& profile, bool has_threads, FunctionTable& functions) {
  for (const ModuleCounters& counters : profile.counters()) {
    const bool is_program = counters.module == 0 && functions.program().is_listed();
    const uint32_t object = is_program ? 0 : functions.library(profile.modules()[counters.module]);
    Sums& sums = sums_[object];
    add_to(sums.all, counters.words);
    add_to(has_threads ? sums.shared : sums.locked, counters.locked);
  }
}

BlockCounts BlockSums::finish(const FunctionTable& functions, Listed listed) const {
  BlockCounts counts;
  for (const auto& [object, sums] : sums_) {
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    if (files.empty()) continue;
    const AllBlocks all = block_runs(BlocksSection(files[0]), sums.all, listed);
    for (const BlockRuns& run : all.blocks) counts.blocks.push_back({object, run.address, run.size, run.count});
    for (const JumpTarget& target : all.targets)
      counts.ways.targets.push_back({object, target.from, target.to, target.is_likely});
    for (const WayRuns& way : all.ways) counts.ways.ways.push_back({object, way.end, way.is_taken, way.count});
  }
  const auto is_before = [](const BlockCount& a, const BlockCount& b) {
    return a.object != b.object ? a.object < b.object : a.address < b.address;
  };
  if (!std::ranges::is_sorted(counts.blocks, is_before)) std::ranges::sort(counts.blocks, is_before);
  std::vector<BlockTarget>& targets = counts.ways.targets;
  const auto ends = [](const BlockTarget& target) { return std::tuple(target.object, target.from, target.to); };
  std::ranges::sort(targets, {}, ends);
  const auto is_same = [&](const BlockTarget& a, const BlockTarget& b) { return ends(a) == ends(b); };
  targets.erase(std::unique(targets.begin(), targets.end(), is_same), targets.end());
  std::ranges::sort(counts.ways.ways, {}, [](const WayCount& way) { return std::pair(way.object, way.end); });
  return counts;
}

double BlockSums::shared_cycles() const {
  double increments = 0;
  for (const auto& [object, sums] : sums_)
    for (const uint64_t count : sums.shared) increments += double(count);
  return increments * kSharedIncrement.likely;
}

CounterCosts BlockSums::costs(FunctionTable& functions) const {
  CounterCosts all_costs;
  std::vector<UncertainCost>& costs = all_costs.by_function;
  for (const auto& [object, sums] : sums_) {
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    if (files.empty()) continue;
    const auto add = [&, object = object](const AllIncrements& all, UncertainCost cost) {
      for (const Increments& i : all.of_functions) {
        const uint32_t function = functions.at(object, i.entry);
        if (costs.size() <= function) costs.resize(function + 1);
        costs[function].add(cost * double(i.count));
      }
    };
    const AllIncrements all = increments(BlocksSection(files[0]), sums.all);
    add(all, all.are_locked ? kLockedIncrement : kIncrement);
    if (!all.are_locked)
      for (const Increments& i : all.of_functions) all_costs.of_all += kMeanIncrement * double(i.count);
    add(increments(BlocksSection(files[0]), sums.locked), kLockedIncrement);
    add(increments(BlocksSection(files[0]), sums.shared), kSharedIncrement);
  }
  costs.resize(functions.functions().size());
  return all_costs;
}

}  // namespace prof
