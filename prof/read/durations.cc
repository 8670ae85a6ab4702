#include "durations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "header.h"
#include "profile.h"
#include "snapshot.h"

namespace prof {

namespace {

using prof_format::Durations;
using prof_format::kLongestDuration;
using prof_format::kShortestDuration;
using prof_format::Octave;

constexpr uint32_t kPartsOfOctave = std::size(Octave{}.calls);
constexpr uint64_t kMostCalls = uint64_t(1) << 60;  // more are damage

uint32_t bucket_of(uint64_t cycles) {
  if (cycles < kShortestDuration) return 0;
  const auto highest = uint32_t(std::bit_width(std::min(cycles, kLongestDuration)) - 1);
  const auto part = uint32_t(cycles >> (highest - PROF_OCTAVE_SHIFT)) % kPartsOfOctave;
  return 1 + (highest - PROF_SHORT_CALL_SHIFT) * kPartsOfOctave + part;
}

uint64_t lower_end(uint32_t bucket) {
  if (bucket == 0) return 0;
  const uint32_t octave = (bucket - 1) / kPartsOfOctave, part = (bucket - 1) % kPartsOfOctave;
  return uint64_t(kPartsOfOctave + part) << (octave + PROF_SHORT_CALL_SHIFT - PROF_OCTAVE_SHIFT);
}

uint64_t middle(uint32_t bucket) { return (lower_end(bucket) + lower_end(bucket + 1)) / 2; }

uint64_t scaled(uint64_t cycles, double scale) { return scale == 1 ? cycles : uint64_t(double(cycles) * scale); }

}  // namespace

void CallDurations::add_calls(uint32_t bucket, uint64_t calls) {
  if (calls == 0) return;
  calls_by_bucket_[bucket] += calls;
  calls_ += calls;
}

void CallDurations::add(const CallDurations& other, double scale) {
  for (const auto& [bucket, calls] : other.calls_by_bucket_)
    add_calls(scale == 1 || bucket == 0 ? bucket : bucket_of(scaled(middle(bucket), scale)), calls);
  widen(scaled(other.least_, scale), scaled(other.greatest_, scale));
  are_of_first_calls_ = are_of_first_calls_ || other.are_of_first_calls_;
}

uint64_t CallDurations::percentile(double part) const {
  const double rank = std::ceil(part * double(calls_));
  double seen = 0;
  for (const auto& [bucket, calls] : calls_by_bucket_) {
    seen += double(calls);
    if (seen < rank) continue;
    return bucket == 0 ? 0 : std::clamp(middle(bucket), std::min(least_, greatest_), greatest_);
  }
  return greatest_;
}

std::vector<CallDurations::Bucket> CallDurations::buckets() const {
  std::vector<Bucket> all;
  for (const auto& [bucket, calls] : calls_by_bucket_) all.push_back({lower_end(bucket), lower_end(bucket + 1), calls});
  return all;
}

void CallDurations::add_call(uint64_t cycles) {
  add_calls(bucket_of(cycles), 1);
  if (cycles >= kShortestDuration) widen(cycles, cycles);
}

void CallDurations::widen(uint64_t least, uint64_t greatest) {
  if (least != 0) least_ = least_ == 0 ? least : std::min(least_, least);
  greatest_ = std::max(greatest_, greatest);
}

std::vector<DurationsAt> DurationsDecoder::decode(const prof_format::Thread& thread,
                                                  const std::vector<RecordedNode>& nodes) {
  are_shared_.push_back(false);
  std::vector<DurationsAt> all;
  if (!has_durations(snapshot_.header())) return all;
  const bool can_leave = snapshot_.header().type == prof_format::kAddresses;
  std::map<uint64_t, CallDurations> by_pc;
  add_logged(thread.logged_durations, by_pc);
  for (const RecordedNode& node : nodes) {
    const auto* raw = node.pc != 0 ? snapshot_.structure<prof_format::Node>(node.block) : nullptr;
    if (!raw) continue;
    if (const Durations* found = take(raw->durations)) all.push_back({node.pc, counted(*found)});
    if (raw->short_calls != 0) by_pc[node.pc].add_calls(0, raw->short_calls);
    if (can_leave && raw->hooks_left != 0) by_pc[node.pc].are_of_first_calls_ = true;
  }
  for (auto& [pc, durations] : by_pc) all.push_back({pc, std::move(durations)});
  return all;
}

// Null if they are none, or were taken before.
const Durations* DurationsDecoder::take(prof_format::Block block) {
  if (block == 0 || block == snapshot_.header().no_durations) return nullptr;
  const auto* raw = snapshot_.structure<Durations>(block);
  if (!raw) return nullptr;
  const size_t thread = are_shared_.size() - 1;
  const auto [known, is_new] = thread_of_.try_emplace(block, thread);
  if (is_new) return raw;
  if (known->second != thread) are_shared_[known->second] = are_shared_[thread] = true;
  return nullptr;
}

uint64_t durations_without_room(const Snapshot& snapshot) {
  const auto* none =
      has_durations(snapshot.header()) ? snapshot.structure<Durations>(snapshot.header().no_durations) : nullptr;
  const auto* octave = none ? snapshot.structure<Octave>(none->octaves[0]) : nullptr;
  if (!octave) return 0;
  uint64_t lost = std::min(none->short_calls, kMostCalls);
  for (const uint64_t calls : octave->calls) lost += std::min(calls, kMostCalls);
  return lost;
}

CallDurations DurationsDecoder::counted(const Durations& raw) {
  const auto* none = snapshot_.structure<Durations>(snapshot_.header().no_durations);
  const auto calls_of = [](uint64_t calls) { return calls < kMostCalls ? calls : 0; };
  CallDurations d;
  d.add_calls(0, calls_of(raw.short_calls));
  for (uint32_t o = 0; o < std::size(raw.octaves); ++o) {
    const prof_format::Block at = raw.octaves[o];
    if (at == 0 || (none && at == none->octaves[0])) continue;
    const auto* octave = snapshot_.structure<Octave>(at);
    if (!octave || !thread_of_.try_emplace(at, are_shared_.size() - 1).second) continue;
    for (uint32_t part = 0; part < kPartsOfOctave; ++part)
      d.add_calls(1 + o * kPartsOfOctave + part, calls_of(octave->calls[part]));
  }
  d.widen(std::min(raw.least, kLongestDuration), std::min(raw.greatest, kLongestDuration));
  return d;
}

void DurationsDecoder::add_logged(prof_format::Block newest, std::map<uint64_t, CallDurations>& by_pc) {
  for (prof_format::Block b = newest; b != 0;) {
    const auto* list = snapshot_.structure<prof_format::LoggedDurations>(b);
    if (!list || !thread_of_.try_emplace(b, are_shared_.size() - 1).second) return;
    for (const auto& entry : list->entries) {
      const auto* node = snapshot_.structure<prof_format::Node>(entry.node);
      const uint64_t pc = node ? node->pc & ~prof_format::kKindOfCall : 0;
      if (pc != 0) by_pc[pc].add_call(std::min(prof_format::unpacked_duration(entry.duration), kLongestDuration));
    }
    b = list->next;
  }
}

}  // namespace prof
