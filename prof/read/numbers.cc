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

SelfTime NumberReader::self(Block block, uint64_t raw) const {
  if (!measured_) return {};
  // A thread that began when the counter could not be read any more has no time.
  if (end_ < start_) return {0, raw == 0};
  const uint64_t lifetime = end_ - start_;
  if (raw > lifetime + lifetime / 64 + kSlack) return {lifetime, false};
  return {raw + (block == running_ ? since_ : 0), true};
}

}  // namespace prof
