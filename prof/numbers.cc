#include "numbers.h"

#include <algorithm>

namespace prof {

namespace {

constexpr uint64_t kSlack = 1 << 20;  // cycles; time stamps of two processors may differ by some hundred

}  // namespace

NumberReader::NumberReader(const Profile& profile, const Thread& thread)
    : measured_(profile.header().type == prof_format::kElapsed || profile.header().type == prof_format::kCpu),
      start_(profile.header().tsc_start),
      end_(thread.end),
      running_(thread.running),
      since_(thread.since) {}

// No call takes less than a cycle.
uint64_t NumberReader::calls(uint64_t raw, uint64_t& damaged) const {
  const uint64_t most = measured_ && end_ >= start_ ? end_ - start_ + kSlack : uint64_t(1) << 60;
  if (raw > most) return damaged++, 0;
  return raw;
}

uint64_t NumberReader::cycles(Block block, uint64_t raw, uint64_t& damaged) const {
  if (!measured_) return 0;
  const uint64_t lifetime = end_ - std::min(start_, end_), slack = lifetime / 64 + kSlack;
  if (end_ < start_ || raw > lifetime + slack) return damaged++, 0;
  return raw + (block == running_ ? since_ : 0);
}

}  // namespace prof
