#include "sample_cost.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace prof {

namespace {

constexpr unsigned kRounds = 12;
constexpr unsigned kSteps = 5'000'000;  // about two milliseconds

uint64_t processor_time() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

// Nanoseconds on a processor.
uint64_t time_of_loop() {
  const uint64_t start = processor_time();
  for (unsigned i = 0; i < kSteps; ++i) asm volatile("");
  return processor_time() - start;
}

}  // namespace

uint64_t cost_of_sample(const PerfSettings& settings) {
  std::vector<PerfRing> rings;
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (int i = 0; i < processors; ++i) {
    PerfRing ring;
    if (ring.open(0, i, settings) == 0) rings.push_back(std::move(ring));
  }
  if (rings.empty()) return 0;
  // Whatever else goes on only adds, so the least of each counts.
  uint64_t without = UINT64_MAX, with = UINT64_MAX;
  for (unsigned i = 0; i < kRounds; ++i) {
    without = std::min(without, time_of_loop());
    for (PerfRing& ring : rings) ring.start();
    with = std::min(with, time_of_loop());
    for (PerfRing& ring : rings) ring.stop();
  }
  if (with <= without) return 0;
  // `with` is the loop and the cost of with / period samples.
  const double cost = double(with - without) * double(settings.period) / double(with);
  return std::min(uint64_t(cost), settings.period / 2);
}

}  // namespace prof
