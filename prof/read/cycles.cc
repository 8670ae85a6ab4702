#include "cycles.h"

#include <algorithm>

#include "header.h"

namespace prof {

namespace {

constexpr uint64_t kSlack = 1 << 20;  // cycles; time stamps of two processors may differ by some hundred

}  // namespace

SelfTimeLimit::SelfTimeLimit(const prof_format::Header& header, uint64_t end)
    : is_measured_(header.type != prof_format::kCount && header.type != prof_format::kAdaptive && !is_sampled(header)),
      start_(header.tsc_start),
      end_(end) {}

SampleCount samples_of(uint64_t raw) {
  constexpr uint64_t kMax = uint64_t(1) << 40;
  return {std::min(raw, kMax), raw <= kMax};
}

SelfTime SelfTimeLimit::of(uint64_t raw, uint64_t since) const {
  if (!is_measured_) return {};
  // A thread that began when the counter could not be read any more has no time.
  if (end_ < start_) return {0, raw == 0};
  const uint64_t lifetime = end_ - start_;
  if (raw > lifetime + lifetime / 64 + kSlack) return {lifetime, false};
  return {raw + since, true};
}

}  // namespace prof
