#include "memory_statistics.h"

namespace prof {

using namespace prof_format;

MemoryStatistics::MemoryStatistics(const MemoryOptions& options) : working_set_(options.window) {
  if (options.with_reuse) reuse_.emplace();
  if (options.caches) caches_.emplace(*options.caches);
}

void MemoryStatistics::new_run(const TraceRun&, const TraceMemory&) { fetched_in_.push_back(0); }

void MemoryStatistics::element(uint64_t address, const RunAccess& access) {
  working_set_.access(address, access.size);
  if (caches_) caches_->access(address, access.size, access.flags & kAccessWrite);
  if (!reuse_) return;
  const uint64_t last = address + (access.size ? access.size - 1 : 0);
  for (uint64_t line = address >> WorkingSet::kLineBits; line <= last >> WorkingSet::kLineBits; ++line)
    reuse_->touch(line);
}

void MemoryStatistics::access(const RunAccess& access, const AccessValue& value) {
  const uint64_t step = access.flags & kAccessDown ? 0 - uint64_t(access.size) : access.size;
  uint64_t address = value.address;
  for (uint64_t i = 0; i < value.count; ++i, address += step) element(address, access);
}

void MemoryStatistics::run(TracedThread, const TraceRun& run, std::span<const AccessValue> accesses) {
  const size_t instructions = run.lengths.size();
  if (working_set_.left() > instructions && !caches_) {  // all of it in one window
    if (fetched_in_[run.number] != working_set_.number() + 1) {
      fetched_in_[run.number] = working_set_.number() + 1;
      working_set_.fetch(run.start, run.end - run.start);
    }
    for (size_t i = 0; i < accesses.size(); ++i) access(run.accesses[i], accesses[i]);
    working_set_.count(instructions);
    return;
  }
  uint64_t address = run.start;
  size_t a = 0;
  for (size_t i = 0; i < instructions; ++i) {
    working_set_.fetch(address, run.lengths[i]);
    if (caches_) caches_->fetch(address, run.lengths[i]);
    for (; a < accesses.size() && run.accesses[a].instruction == i; ++a) access(run.accesses[a], accesses[a]);
    working_set_.count(1);
    address += run.lengths[i];
  }
}

}  // namespace prof
