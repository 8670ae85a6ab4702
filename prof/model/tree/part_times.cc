#include "part_times.h"

#include <algorithm>

#include "prof/read/clock.h"
#include "prof/read/header.h"
#include "run_times.h"
#include "tree.h"

namespace prof {

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
  times.add(profile, hz > 0 ? hz : 1e9);
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
