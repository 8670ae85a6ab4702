#include "counters.h"

#include <algorithm>

#include "header.h"
#include "self_time.h"

namespace prof {

namespace {

// Lists have whole numbers.
uint64_t whole_cycles(double cycles) { return uint64_t(std::min(cycles, 0x1p62)); }

// A node has times that it waited, or samples of others.
BlockCounters counters_in(const RecordedNode& node) {
  return {.calls = node.calls,
          .cycles = whole_cycles(node.cycles),
          .block = node.block,
          .timed = node.timed,
          .blocked = whole_cycles(node.blocked + node.library_samples),
          .preempted = whole_cycles(node.preempted + node.kernel_samples)};
}

// What a list has of a block; zeros if nothing.
BlockCounters counters_of(const std::vector<BlockCounters>& list, Block block) {
  const auto at =
      std::lower_bound(list.begin(), list.end(), block, [](const BlockCounters& c, Block b) { return c.block < b; });
  return at != list.end() && at->block == block ? *at : BlockCounters{};
}

// Calls `change` with the counters of each block and with what a list has of it.
template <class Change>
void change_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list,
                     Change change) {
  auto apply = [&](Block block, BlockCounters counters) {
    change(counters, counters_of(list, block));
    return counters;
  };
  const BlockCounters process = apply(0, {calls.lost, calls.cycles});
  calls.lost = process.calls;
  calls.cycles = process.cycles;
  for (Thread& thread : calls.threads) {
    const BlockCounters found =
        apply(thread.block, {thread.lost, thread.hook_samples, thread.block, 0, thread.sample_signals});
    thread.lost = found.calls;
    thread.hook_samples = found.cycles;
    thread.sample_signals = found.timed;
    for (std::vector<RecordedNode>* nodes : {&thread.nodes, &thread.addresses}) {
      for (RecordedNode& node : *nodes) {
        if (!is_possible_count(node.calls)) continue;
        const BlockCounters c = apply(node.block, counters_in(node));
        node.calls = c.calls;
        node.cycles = double(c.cycles);
        node.timed = c.timed;
        (is_sampled(header) ? node.library_samples : node.blocked) = double(c.blocked);
        (is_sampled(header) ? node.kernel_samples : node.preempted) = double(c.preempted);
      }
    }
  }
}

// Makes the times of all nodes possible again: a list may be damaged.
void bound_times(Calls& calls, const prof_format::Header& header) {
  const bool is_estimated = header.type == prof_format::kAdaptive;
  for (Thread& thread : calls.threads) {
    for (RecordedNode& address : thread.addresses)
      address.cycles = double(samples_of(whole_cycles(address.cycles)).cycles);
    if (thread.nodes.empty()) continue;
    const SelfTimeLimit limit(header, thread.end);
    const double lived = thread.end > thread.start ? double(thread.end - thread.start) : 0;
    const double whole = std::min(lived, thread.nodes[0].cycles), longest_wait = double(thread.waited);
    for (RecordedNode& node : thread.nodes) {
      node.variance = 0;
      if (is_sampled(header)) {
        for (double* samples : {&node.cycles, &node.library_samples, &node.kernel_samples})
          *samples = double(samples_of(whole_cycles(*samples)).cycles);
      } else if (is_estimated) {
        node.cycles = std::min(node.cycles, whole);
      } else {
        const SelfTime self = limit.of(whole_cycles(node.cycles));
        node.cycles = double(self.cycles);
        node.has_impossible_time |= !self.is_possible;
        node.blocked = std::min(node.blocked, longest_wait);
        node.preempted = std::min(node.preempted, longest_wait);
      }
    }
  }
}

// Takes the nodes that are not kept out of a tree.
void leave_out(std::vector<RecordedNode>& nodes, const std::vector<bool>& kept) {
  std::vector<uint32_t> place(nodes.size() + 1);  // of each node, or of the first that is kept after it
  for (size_t i = 0; i < nodes.size(); ++i) place[i + 1] = place[i] + kept[i];
  for (RecordedNode& node : nodes) {
    const uint32_t first = node.first_child, end = first + node.child_count;
    node.first_child = place[first];
    node.child_count = place[end] - place[first];
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (kept[i]) nodes[place[i]] = nodes[i];
  nodes.resize(place.back());
}

}  // namespace

std::vector<BlockCounters> list_counters(const Calls& calls) {
  std::vector<BlockCounters> list;
  auto add = [&](const BlockCounters& counters) {
    if (counters.calls || counters.cycles || counters.blocked || counters.preempted) list.push_back(counters);
  };
  add({calls.lost, calls.cycles});
  for (const Thread& thread : calls.threads) {
    add({thread.lost, thread.hook_samples, thread.block, 0, thread.sample_signals});
    for (const std::vector<RecordedNode>* nodes : {&thread.nodes, &thread.addresses})
      for (const RecordedNode& node : *nodes)
        if (is_possible_count(node.calls)) add(counters_in(node));
  }
  std::sort(list.begin(), list.end(), [](const BlockCounters& a, const BlockCounters& b) { return a.block < b.block; });
  return list;
}

void subtract_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list) {
  change_counters(calls, header, list, [](BlockCounters& counters, const BlockCounters& listed) {
    counters.calls -= std::min(counters.calls, listed.calls);
    counters.cycles -= std::min(counters.cycles, listed.cycles);
    counters.timed -= std::min(counters.timed, listed.timed);
    counters.blocked -= std::min(counters.blocked, listed.blocked);
    counters.preempted -= std::min(counters.preempted, listed.preempted);
  });
  bound_times(calls, header);
}

void replace_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list) {
  change_counters(calls, header, list, [](BlockCounters& counters, const BlockCounters& listed) { counters = listed; });
  bound_times(calls, header);
}

void leave_out_empty_nodes(Calls& calls) {
  for (const Thread& thread : calls.threads)
    for (const RecordedNode& node : thread.nodes)
      if (node.children == RecordedNode::Children::broken) return;
  for (Thread& thread : calls.threads) {
    std::vector<RecordedNode>& nodes = thread.nodes;
    std::vector<bool> kept(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      kept[i] = i == 0 || nodes[i].calls != 0 || nodes[i].cycles != 0 || nodes[i].blocked != 0 ||
                nodes[i].preempted != 0 || nodes[i].library_samples != 0 || nodes[i].kernel_samples != 0;
      const uint32_t first = nodes[i].first_child;
      for (uint32_t c = first; c < first + nodes[i].child_count && !kept[i]; ++c) kept[i] = kept[c];
    }
    if (!nodes.empty()) leave_out(nodes, kept);
  }
}

}  // namespace prof
