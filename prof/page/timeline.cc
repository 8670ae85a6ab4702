#include "timeline.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "libprof/printable.h"

namespace prof {

namespace {

using nlohmann::ordered_json;

bool is_known(const Analysis& analysis) { return analysis.sampled && !analysis.sampled->timeline.counts.empty(); }

// Indexes of the threads that have samples, the busiest first.
std::vector<uint32_t> threads_in_order(const RunTimeline& timeline) {
  std::vector<uint64_t> samples(timeline.threads.size());
  for (const RunTimeline::Count& count : timeline.counts) samples[count.thread] += count.samples;
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t thread) { return samples[thread] == 0; });
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return samples[a] > samples[b]; });
  return order;
}

}  // namespace

ordered_json timeline_of(const Analysis& analysis) {
  if (!is_known(analysis)) return nullptr;
  const SampledTimes& sampled = *analysis.sampled;
  ordered_json threads = ordered_json::array();
  for (const uint32_t t : threads_in_order(sampled.timeline)) {
    const SampledThread& thread = sampled.timeline.threads[t];
    threads.push_back({prof_text::printable(thread.name), thread.process, thread.thread});
  }
  return {{"slice", double(sampled.timeline.slice) / 1e9},
          {"length", double(sampled.timeline.length) / 1e9},
          {"sample", double(sampled.period) / 1e9 * analysis.rate()},
          {"weight", sampled.weight},
          {"kernel", sampled.has_kernel},
          {"threads", std::move(threads)}};
}

void pack_timeline(const Analysis& analysis, Packed& packed) {
  if (!is_known(analysis)) return;
  const RunTimeline& timeline = analysis.sampled->timeline;
  std::vector<uint32_t> place(timeline.threads.size());
  uint32_t next = 0;
  for (const uint32_t thread : threads_in_order(timeline)) place[thread] = next++;
  const auto column = [&](const char* name, const auto& of) {
    packed.column(name, timeline.counts.size());
    for (const RunTimeline::Count& count : timeline.counts) packed.number(of(count));
  };
  uint32_t last = 0;
  column("timeline.slice", [&](const auto& count) { return count.slice - std::exchange(last, count.slice); });
  column("timeline.thread", [&](const auto& count) { return place[count.thread]; });
  column("timeline.node", [](const auto& count) { return count.node; });
  column("timeline.samples", [](const auto& count) { return count.samples; });
}

}  // namespace prof
