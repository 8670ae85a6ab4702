// The runs of a trace: instructions that lie one after the other, and ran so, each known by one number wherever it
// occurs. There are as many as the program's code has, however long the trace is.

#ifndef PROF_INSTRUCTIONS_TRACE_RUN_TABLE_H
#define PROF_INSTRUCTIONS_TRACE_RUN_TABLE_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace prof {

struct RunAccess {
  uint32_t instruction = 0;  // which of the run's, from 0
  uint32_t size = 0;         // bytes
  uint8_t flags = 0;         // prof_format::kAccess...

  bool operator==(const RunAccess&) const = default;
};

struct TraceRun {
  uint32_t number = 0;  // runs are numbered from 0 as they are met
  uint32_t process = 0;
  uint64_t start = 0, end = 0;      // addresses in the memory of the process
  std::vector<uint8_t> lengths;     // of its instructions, in bytes
  std::vector<RunAccess> accesses;  // by instruction
};

// Where an access was made. It has the place that its run's RunAccess has.
struct AccessValue {
  uint64_t address = 0;
  uint64_t count = 1;  // of elements; not 1 only if it is repeated
};

class RunTable {
 public:
  // The run that these instructions are; valid as long as the table. `shape`: instructions as they stand in the flow of
  // steps, `count` of them. Throws DamagedTrace.
  const TraceRun& find(uint32_t process, uint64_t start, uint64_t count, std::string_view shape);

  // A run of basic blocks, which are not looked up again.
  const TraceRun& add(TraceRun run);

  // The code has changed: what comes now gets new numbers, if it is the same or not.
  void forget() { runs_of_.clear(); }

 private:
  std::deque<TraceRun> runs_;
  std::unordered_map<std::string, const TraceRun*> runs_of_;
};

}  // namespace prof

#endif
