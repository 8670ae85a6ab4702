// What a trace says of memory: the working set over time, reuse distances, and what caches would have had of it.

#ifndef PROF_INSTRUCTIONS_STATISTICS_MEMORY_STATISTICS_H
#define PROF_INSTRUCTIONS_STATISTICS_MEMORY_STATISTICS_H

#include <optional>
#include <vector>

#include "cache_simulation.h"
#include "prof/instructions/trace/trace_reader.h"
#include "reuse_distances.h"
#include "working_set.h"

namespace prof {

struct MemoryOptions {
  uint64_t window = 1'000'000;  // instructions
  bool with_reuse = false;
  std::optional<CacheShapes> caches;
};

class MemoryStatistics : public TraceConsumer {
 public:
  explicit MemoryStatistics(const MemoryOptions& options);

  void new_run(const TraceRun& run, const TraceMemory& memory) override;
  void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) override;
  void event(TracedThread, const TraceEvent&) override {}
  void finish() { working_set_.finish(); }

  const WorkingSet& working_set() const { return working_set_; }
  const std::optional<ReuseDistances>& reuse() const { return reuse_; }
  const std::optional<CacheSimulation>& caches() const { return caches_; }

 private:
  void instruction(uint64_t address, uint8_t length);
  void access(const RunAccess& access, const AccessValue& value);
  void element(uint64_t address, const RunAccess& access);

  WorkingSet working_set_;
  std::optional<ReuseDistances> reuse_;
  std::optional<CacheSimulation> caches_;
  std::vector<uint64_t> fetched_in_;  // by run: the window in which its code was counted last, + 1
};

}  // namespace prof

#endif
