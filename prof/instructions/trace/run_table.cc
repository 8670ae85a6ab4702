#include "run_table.h"

#include "varint.h"

namespace prof {

namespace {

constexpr size_t kMaxRuns = size_t(1) << 26;
constexpr uint64_t kLongestInstruction = 15;        // bytes
constexpr uint64_t kMaxAccess = uint64_t(1) << 16;  // bytes; xsave touches some thousands

TraceRun decode(uint64_t count, std::string_view shape) {
  TraceRun run;
  TraceBytes bytes(shape);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t instruction = bytes.varint();
    const uint64_t length = instruction % 16;
    uint64_t accesses = instruction / 16;
    if (length == 0 || length > kLongestInstruction || accesses > 15)
      throw DamagedTrace("an instruction has an impossible length");
    if (accesses == 15) accesses += bytes.varint();
    if (accesses > bytes.remaining()) throw DamagedTrace("an instruction has more accesses than there are");
    run.lengths.push_back(uint8_t(length));
    for (; accesses; --accesses) {
      const uint64_t access = bytes.varint();
      if (access / 8 > kMaxAccess) throw DamagedTrace("an access is too large");
      run.accesses.push_back({uint32_t(i), uint32_t(access / 8), uint8_t(access % 8)});
    }
  }
  return run;
}

}  // namespace

const TraceRun& RunTable::find(uint32_t process, uint64_t start, uint64_t count, std::string_view shape) {
  std::string key(reinterpret_cast<const char*>(&start), sizeof start);
  key.append(reinterpret_cast<const char*>(&process), sizeof process);
  key += shape;
  const auto [at, is_new] = runs_of_.try_emplace(std::move(key), nullptr);
  if (!is_new && at->second) return *at->second;
  TraceRun run = decode(count, shape);
  run.process = process;
  run.start = run.end = start;
  for (const uint8_t length : run.lengths) run.end += length;
  at->second = &add(std::move(run));
  return *at->second;
}

const TraceRun& RunTable::add(TraceRun run) {
  if (runs_.size() >= kMaxRuns) throw DamagedTrace("it has more code than any program");
  run.number = uint32_t(runs_.size());
  return runs_.emplace_back(std::move(run));
}

}  // namespace prof
