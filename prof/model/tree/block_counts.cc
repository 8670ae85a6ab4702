#include "block_counts.h"

#include <algorithm>

#include "libprof/format/blocks.h"
#include "prof/read/block_table.h"

namespace prof {

void BlockSums::add(const Profile& profile, FunctionTable& functions) {
  for (const ModuleCounters& counters : profile.counters()) {
    const bool is_program = counters.module == 0 && functions.program().is_listed();
    const uint32_t object = is_program ? 0 : functions.library(profile.modules()[counters.module]);
    std::vector<uint64_t>& sums = sums_[object];
    sums.resize(std::max(sums.size(), counters.words.size()));
    for (size_t i = 0; i < counters.words.size(); ++i) sums[i] += counters.words[i];
  }
}

std::vector<BlockCount> BlockSums::finish(const FunctionTable& functions) const {
  std::vector<BlockCount> blocks;
  for (const auto& [object, sums] : sums_) {
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    if (files.empty()) continue;
    for (const BlockRuns& run : block_runs(files[0].section(prof_format::kBlocksSection), sums))
      blocks.push_back({object, run.address, run.size, run.count});
  }
  std::sort(blocks.begin(), blocks.end(), [](const BlockCount& a, const BlockCount& b) {
    return a.object != b.object ? a.object < b.object : a.address < b.address;
  });
  return blocks;
}

}  // namespace prof
