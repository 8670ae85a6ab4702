#include "profile.h"

#include <algorithm>
#include <utility>

#include "decode.h"
#include "error.h"
#include "recording.h"
#include "skeleton.h"
#include "snapshot.h"

namespace prof {

namespace {

// Cycles from the start of the process to the last sign of life of any of its threads. 0 if that is not known.
uint64_t lifetime_of(const Snapshot& snapshot, const std::vector<Thread>& threads) {
  const prof_format::Header& h = snapshot.header();
  uint64_t end = snapshot.is_live() ? snapshot.taken_at() : std::max(h.tsc_last, h.tsc_end);
  for (const Thread& thread : threads) end = std::max(end, thread.lived_until);
  return h.tsc_start != 0 && end > h.tsc_start ? end - h.tsc_start : 0;
}

}  // namespace

Profile Profile::read(const std::string& path, bool with_durations) {
  Profile p = read_whole(path, with_durations);
  Recording recording = read_recording(path, p.header_);
  if (recording.is_limited() && recording.problem.empty()) {
    if (recording.is_on) {
      subtract_counters(p.calls_, p.header_, recording.counters);
    } else {
      replace_counters(p.calls_, p.header_, recording.counters);
    }
    leave_out_empty_nodes(p.calls_);
    for (Thread& thread : p.calls_.threads) thread.durations.clear();
    recording.counters.clear();
  }
  p.recording_ = std::move(recording);
  return p;
}

Profile Profile::read_whole(const std::string& path, bool with_durations) {
  const Snapshot snapshot(path);
  Profile p;
  p.path_ = path;
  p.header_ = snapshot.header();
  p.is_live_ = snapshot.is_live();
  p.damage_ = snapshot.damage();
  p.modules_ = decode_modules(snapshot, p.damage_);
  find_skeletons(snapshot, p.modules_);
  p.command_line_ = decode_command_line(snapshot);
  p.calls_.threads = decode_threads(snapshot, p.damage_, with_durations);
  p.counters_ = decode_counters(snapshot, p.modules_, p.damage_);
  p.calls_.lost = p.header_.lost;
  p.folded_ = p.header_.folded_nodes;
  if (with_durations) p.lost_durations_ = durations_without_room(snapshot);
  p.lifetime_ = p.calls_.cycles = lifetime_of(snapshot, p.calls_.threads);
  return p;
}

uint64_t Profile::lost() const {
  uint64_t lost = calls_.lost;
  for (const Thread& thread : calls_.threads) lost += thread.lost;
  return lost;
}

std::vector<Profile> Profile::by_thread(Profile profile) {
  std::vector<Thread> threads = std::exchange(profile.calls_.threads, {});
  if (threads.empty())
    throw Error(profile.path_ + ": the program ended before a thread of it was recorded; look at it without -t");
  std::vector<Profile> parts;
  auto add = [&](Thread& thread) {
    parts.push_back(profile);
    if (thread.shares_durations) thread.durations.clear();
    parts.back().calls_.threads.push_back(std::move(thread));
    // What is known of all threads together is told once.
    profile.calls_.lost = profile.folded_ = profile.lost_durations_ = 0;
    profile.counters_.clear();
  };
  for (Thread& thread : threads) {
    const bool has_calls = !thread.nodes.empty() && (thread.nodes[0].child_count != 0 ||
                                                     thread.nodes[0].children != RecordedNode::Children::whole);
    if (has_calls || thread.lost != 0) add(thread);
  }
  if (parts.empty()) {
    parts.push_back(std::move(profile));
    parts[0].calls_.threads = std::move(threads);
  }
  return parts;
}

}  // namespace prof
