#include "run_times.h"

#include <algorithm>
#include <cstdio>

#include "linker-rewrite/text/numbers.h"
#include "prof/read/clock.h"
#include "prof/read/header.h"
#include "tree.h"

namespace prof {

namespace {

// Cycles that a thread had a processor, by its own clock: the times of all nodes, or the root's if they are inclusive.
RawCycles processor_cycles(const Thread& thread, bool is_inclusive) {
  RawCycles cycles;
  for (const RecordedNode& node : thread.nodes) {
    cycles += node.cycles;
    if (is_inclusive) break;
  }
  return cycles;
}

// What the roots stand for. An estimate has none.
double outside_seconds(const Profile& profile, double hz) {
  if (!has_waiting(profile.header())) return 0;
  RawCycles cycles;
  for (const Thread& thread : profile.threads())
    if (!thread.nodes.empty()) cycles += thread.nodes[0].cycles;
  return cycles.count / hz;
}

std::optional<double> processor_seconds(const Profile& profile, double hz) {
  const prof_format::Header& h = profile.header();
  if (uses_cpu_clock(h)) {
    RawCycles cycles;
    for (const Thread& thread : profile.threads()) cycles += processor_cycles(thread, h.type == prof_format::kAdaptive);
    return cycles.count / hz;
  }
  const bool is_told = (h.flags & prof_format::kEnded) && h.cpu_start != 0 && h.cpu_end >= h.cpu_start;
  if (!is_told || profile.recording().is_limited()) return {};
  return double(h.cpu_end - h.cpu_start) / 1e9;
}

}  // namespace

void RunTimes::add(const Profile& profile, double hz) {
  ++processes;
  threads += profile.threads().size();
  parents_[profile.header().pid] = profile.header().parent_pid;
  elapsed += double(profile.recorded()) / hz;
  const std::optional<double> seconds = processor_seconds(profile, hz);
  processor = processor && seconds ? std::optional(*processor + *seconds) : std::nullopt;
  outside += outside_seconds(profile, hz);
  if (!has_waiting(profile.header())) preempted = std::nullopt;
  for (const Thread& thread : profile.threads())
    if (preempted) *preempted += thread.preempted_times;
}

size_t RunTimes::runs() const {
  size_t runs = 0;
  for (const auto& [process, parent] : parents_) runs += !parents_.contains(parent);
  return runs;
}

std::string RunTimes::line() const {
  if (!processor || elapsed <= 0) return "";
  char text[200];
  if (processes > 1)
    std::snprintf(text, sizeof text, "%zu processes on processors for %.3f s in %.3f s", processes, *processor,
                  elapsed);
  else if (threads > 1)
    std::snprintf(text, sizeof text, "%zu threads on processors for %.3f s in %.3f s", threads, *processor, elapsed);
  else
    std::snprintf(text, sizeof text, "on a processor %.3f s of %.3f s", *processor, elapsed);
  std::string line = text;
  if (preempted) line += ", preempted " + prof_text::count_of(*preempted, "time");
  return line;
}

namespace {

uint64_t calls_of(const Thread& thread) {
  uint64_t calls = thread.lost;
  for (const RecordedNode& node : thread.nodes) add_up(calls, node.calls);
  return calls;
}

}  // namespace

PartTimes part_times(const Profile& profile) {
  const double hz = time_stamp_rate(profile.header());
  RunTimes times;
  times.add(profile, rate_or_default(hz));
  PartTimes part{{}, times.processor, {}};
  if (times.elapsed > 0) part.elapsed = times.elapsed;
  double waited = 0;
  for (const Thread& thread : profile.threads()) {
    add_up(part.calls, calls_of(thread));
    waited += double(thread.waited);
  }
  if (has_waiting(profile.header()) && hz > 0) part.waiting = waited / hz;
  return part;
}

PartTimes part_times(const Profile& profile, const Thread& thread) {
  const double hz = time_stamp_rate(profile.header());
  PartTimes part{{}, {}, {}, calls_of(thread)};
  if (hz <= 0 || thread.lived_until <= thread.start) return part;
  part.elapsed = double(thread.lived_until - thread.start) / hz;
  if (!has_waiting(profile.header())) return part;
  part.waiting = double(thread.waited) / hz;
  part.processor = std::max(*part.elapsed - *part.waiting, 0.0);
  return part;
}

}  // namespace prof
