#include "prof/sample/timeline.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

using prof::SampleTimes;
using prof::Timeline;

namespace {

constexpr uint64_t kBegin = 5'000'000'000, kMillisecond = 1'000'000;
const std::map<uint64_t, uint32_t> kThreads = {{7, 0}, {9, 1}};

uint64_t sum_of(const SampleTimes& times) {
  uint64_t sum = 0;
  for (const prof::TimedSamples& t : times.counts) sum += t.samples;
  return sum;
}

}  // namespace

TEST_CASE("Timeline: samples alike in a slice are one count, others are apart") {
  Timeline timeline;
  timeline.go_on(kBegin);
  timeline.add(kBegin + 10, 7, 3, false, 1);
  timeline.add(kBegin + 20, 7, 3, false, 4);
  timeline.add(kBegin + 20, 9, 3, false, 1);
  timeline.add(kBegin + 20, 7, 3, true, 1);
  timeline.add(kBegin + 20, 7, 4, false, 1);
  timeline.add(kBegin + 1 * kMillisecond, 7, 3, false, 1);
  timeline.go_on(kBegin + 3 * kMillisecond);
  const SampleTimes times = timeline.finish(kThreads);
  CHECK(times.length == 3 * kMillisecond);
  REQUIRE(times.counts.size() == 5);
  CHECK(times.counts[0].samples == 5);
  CHECK(times.counts[1].in_kernel);
  CHECK(times.counts[2].chain == 4);
  CHECK(times.counts[3].thread == 1);
  CHECK(times.counts[4].slice == kMillisecond / times.slice);
  CHECK(sum_of(times) == 9);
}

TEST_CASE("Timeline: a long run has slices as many as a short one, and no sample gets lost") {
  Timeline timeline;
  timeline.go_on(kBegin);
  constexpr uint64_t kSeconds = 100'000;
  for (uint64_t s = 0; s < kSeconds; ++s) timeline.add(kBegin + 1000 * kMillisecond * s, 7, uint32_t(s % 3), false, 2);
  const SampleTimes times = timeline.finish(kThreads);
  CHECK(sum_of(times) == 2 * kSeconds);
  CHECK(times.counts.back().slice < prof::kMaxSlices);
  CHECK(times.counts.back().slice >= prof::kMaxSlices / 2 - 1);
  CHECK(times.length / times.slice == times.counts.back().slice);
}

TEST_CASE("Timeline: many chains at each moment make slices longer, but for a few, and no sample gets lost") {
  // Of 100,000 moments, with chains that come again, and with chains that do not.
  for (const uint32_t chains : {100u, 1'000'000u}) {
    Timeline timeline;
    constexpr uint32_t kSamples = 100'000;
    for (uint32_t i = 0; i < kSamples; ++i) timeline.add(kBegin + i * kMillisecond, 9, i % chains, false, 1);
    const SampleTimes times = timeline.finish(kThreads);
    CHECK(sum_of(times) == kSamples);
    CHECK(times.counts.back().slice >= prof::kMinSlices - 1);
    if (chains == 100) CHECK(times.counts.size() <= 1 << 16);
  }
  Timeline timeline;
  constexpr uint32_t kChains = 5000;
  for (uint64_t s = 0; s < 60; ++s)
    for (uint32_t chain = 0; chain < kChains; ++chain)
      timeline.add(kBegin + 1000 * s * kMillisecond, 9, chain, false, 1);
  const SampleTimes times = timeline.finish(kThreads);
  CHECK(sum_of(times) == 60 * kChains);
  uint32_t last = 0;
  for (const prof::TimedSamples& t : times.counts) {
    CHECK_MESSAGE(t.slice >= last, "out of order");
    last = t.slice;
  }
}

TEST_CASE("Timeline: without samples nothing is known") {
  Timeline timeline;
  timeline.go_on(kBegin);
  CHECK(timeline.finish(kThreads).slice == 0);
}
