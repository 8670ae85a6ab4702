// The estimate is a ratio: the weighted sum of the durations that were measured, by the sum of the weights, times the
// number of calls. Its error comes from the calls that were not timed, so it is zero as long as all were; else the
// variance of the durations times the sum of w(w - 1) over the weights drawn, whose expectation follows from the count
// (Cochran, Sampling Techniques, section 2.11 and chapter 6).
//
// Calls that have not returned. Of main, and whatever else was open when the program ended, there is no duration yet,
// but a frame, with the time stamp of its entry if it is timed. If it is not, it is older than the frames above it.

#include "estimate.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace prof {

namespace {

using prof_format::Frame;
using prof_format::FrameChunk;
using prof_format::kWeightShift;

// Of w(w - 1), by the call, summed up over the first `count` calls of a node: w is a whole number drawn evenly from
// period/2 to 3 period/2.
double sum_of_weights_beyond_one(uint64_t count) {
  double sum = 0;
  count = std::min(count, uint64_t(1) << 60);  // more come from damage, and would let `from` wrap around
  for (uint64_t from = prof_format::kTimedFrom; from < count; from *= 2) {
    const double period = double(prof_format::sampling_period(from));
    sum += double(std::min(from, count - from)) * (period + (period + 2) / 12 - 1);
  }
  return sum;
}

}  // namespace

Estimator::Estimator(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end)
    : whole_(end > thread.tsc_start ? double(end - thread.tsc_start) : 0) {
  find_open(snapshot, thread, end);
}

void Estimator::find_open(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end) {
  std::unordered_set<Block> seen;
  for (Block stack = thread.stacks; stack != 0 && seen.insert(stack).second;) {
    const FrameChunk* first = snapshot.frames(stack);
    if (!first) return;
    // Calls on a stack that the thread left took time up to then.
    const bool is_suspended = first->left_at != 0 && thread.frames != stack;
    const uint64_t until = is_suspended ? std::min(end, first->left_at) : end;
    std::vector<const Frame*> frames;
    std::unordered_set<Block> nodes;  // of a node that is there twice the outer call is the one that counts
    for (const FrameChunk* chunk = first; chunk;) {
      const Frame* entries = reinterpret_cast<const Frame*>(chunk + 1);
      for (uint32_t i = 1; i < chunk->capacity; ++i)
        if (entries[i].slot != 0 && nodes.insert(entries[i].node).second) frames.push_back(&entries[i]);
      chunk = seen.insert(chunk->next).second ? snapshot.frames(chunk->next) : nullptr;
    }
    uint64_t latest = until;  // when the call was open at the latest
    for (size_t i = frames.size(); i-- > 0;) {
      const Frame* f = frames[i];
      const uint64_t weight = f->flags >> kWeightShift;
      if (weight != 0) latest = std::min(f->start, until);
      Open& open = open_[f->node];
      ++open.calls;
      open.weight += weight;
      open.cycles += double(until - latest);
    }
    stack = first->next_stack;
  }
}

Estimate Estimator::inclusive(Block block, const prof_format::Node& node) const {
  const auto found = open_.find(block);
  const Open open = found == open_.end() ? Open{} : found->second;
  const uint64_t calls = node.count - std::min(node.count, open.calls);
  const uint64_t weight = node.cycles - std::min(node.cycles, open.weight);
  Estimate e;
  if (calls != 0 && weight != 0) {
    const double mean = double(node.timed_cycles) / double(weight);
    const double unit = double(prof_format::kSquareUnit);
    const double squares = double(node.timed_squares) * unit * unit / double(weight);
    e.cycles = mean * double(calls);
    e.variance = std::max(squares - mean * mean, 0.0) * sum_of_weights_beyond_one(node.count);
  }
  e.cycles = std::min(e.cycles + open.cycles, whole_);
  return e;
}

}  // namespace prof
