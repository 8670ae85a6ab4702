#include "numbers.h"

#include <algorithm>

namespace prof {

namespace {

constexpr uint64_t kSlack = 1 << 20;  // cycles; time stamps of two processors may differ by some hundred

}  // namespace

NumberReader::NumberReader(const Profile& profile, const Thread& thread)
    : measured_(profile.header().type == prof_format::kElapsed || profile.header().type == prof_format::kCpu),
      start_(profile.header().tsc_start),
      end_(thread.end) {}

// No call takes less than a cycle.
uint64_t NumberReader::calls(uint64_t raw, uint64_t& damaged) const {
  const uint64_t most = measured_ && end_ >= start_ ? end_ - start_ + kSlack : uint64_t(1) << 60;
  if (raw > most) return damaged++, 0;
  return raw;
}

uint64_t NumberReader::cycles(uint64_t raw, uint64_t& damaged) const {
  if (!measured_) return 0;
  const uint64_t lifetime = end_ - start_;
  if (end_ < start_) return damaged++, 0;
  const uint64_t slack = lifetime / 64 + kSlack;
  constexpr uint64_t kNegative = uint64_t(1) << 63;  // all arithmetic is modulo 2^64
  uint64_t value = raw;
  if (value >= kNegative) {
    // Short by a time stamp: it was running. A small negative value is the difference of two processors' clocks.
    if (0 - value < start_ / 2) return 0;
    value += end_;
  } else if (value > lifetime + slack) {
    // A time stamp too many: the program was killed in a signal handler that had interrupted a hook. It is the one of
    // when the handler came, which is not known.
    if (value < start_) return damaged++, 0;
    value -= std::min(value, end_);
  }
  if (0 - value <= slack) return 0;
  if (value > lifetime + slack) return damaged++, 0;
  return value;
}

}  // namespace prof
