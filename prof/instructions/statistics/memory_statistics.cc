#include "memory_statistics.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace prof {

// `change`: 1, or -1 modulo 2^64.
void ReuseDistances::add(uint64_t time, uint64_t change) {
  for (; time < sums_.size(); time += time & (~time + 1)) sums_[size_t(time)] += change;
}

uint64_t ReuseDistances::marks_up_to(uint64_t time) const {
  uint64_t sum = 0;
  for (; time; time &= time - 1) sum += sums_[size_t(time)];
  return sum;
}

void ReuseDistances::number_anew() {
  std::vector<std::pair<uint64_t, uint64_t>> uses;  // time, line
  uses.reserve(last_use_.size());
  for (const auto& [line, time] : last_use_) uses.emplace_back(time, line);
  std::sort(uses.begin(), uses.end());
  sums_.assign(std::max<size_t>(kSmallest, uses.size() * 4) + 1, 0);
  time_ = 0;
  for (const auto& [time, line] : uses) {
    last_use_[line] = ++time_;
    add(time_, 1);
  }
}

void ReuseDistances::touch(uint64_t line) {
  if (time_ && line == newest_line_) {
    ++counts_[0];
    return;
  }
  newest_line_ = line;
  if (time_ + 1 >= sums_.size()) number_anew();
  ++time_;
  const auto [at, is_new] = last_use_.try_emplace(line, time_);
  if (!is_new) {
    const uint64_t distance = last_use_.size() - marks_up_to(at->second);
    ++counts_[size_t(std::bit_width(distance))];
    add(at->second, UINT64_MAX);
    at->second = time_;
  }
  add(time_, 1);
}

namespace {

constexpr uint64_t kMaxCache = uint64_t(1) << 32;  // bytes

}  // namespace

const char* problem_of(const CacheShape& shape) {
  if (!std::has_single_bit(shape.line) || shape.line < 16) return "a line has a power of two of bytes, 16 or more";
  if (shape.ways == 0 || shape.size == 0 || shape.size > kMaxCache || shape.size % shape.line != 0 ||
      shape.size / shape.line % shape.ways != 0)
    return "the size is no multiple of the ways times the line";
  if (!std::has_single_bit(shape.size / shape.line / shape.ways)) return "the sets are no power of two";
  return "";
}

Cache::Cache(const CacheShape& shape)
    : line_bits_(unsigned(std::countr_zero(shape.line))),
      sets_(shape.size / shape.line / shape.ways),
      ways_(shape.ways),
      lines_(size_t(sets_ * ways_)) {}

bool Cache::touch_line(uint64_t line) {
  const auto first = lines_.begin() + std::ptrdiff_t(line % sets_ * ways_);
  const auto end = first + std::ptrdiff_t(ways_);
  if (*first == line + 1) return true;
  const auto at = std::find(first, end, line + 1);
  const bool is_there = at != end;
  std::rotate(first, is_there ? at : end - 1, is_there ? at + 1 : end);
  *first = line + 1;
  return is_there;
}

bool Cache::touch(uint64_t address, uint64_t size) {
  const uint64_t first = address >> line_bits_;
  const uint64_t last = (address + (size ? size - 1 : 0)) >> line_bits_;
  bool are_there = true;
  for (uint64_t line = first; line <= last; ++line) are_there &= touch_line(line);
  return are_there;
}

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
