#include "reuse_distances.h"

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

}  // namespace prof
