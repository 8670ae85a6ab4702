#include "counters.h"

#include <algorithm>

#include "header.h"
#include "self_time.h"

namespace prof {

namespace {

// Lists have whole numbers.
uint64_t whole(double count) { return uint64_t(std::min(count, 0x1p62)); }
uint64_t whole(RawCycles cycles) { return whole(cycles.count); }

// A node has times, or samples.
BlockCounters counters_in(const RecordedNode& node) {
  return {.calls = node.calls,
          .cycles = whole(node.cycles) + whole(node.own_samples),
          .block = node.block,
          .timed = node.timed,
          .blocked = whole(node.blocked) + whole(node.library_samples),
          .preempted = whole(node.preempted) + whole(node.kernel_samples)};
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
        node.timed = c.timed;
        const double of_list[] = {double(c.cycles), double(c.blocked), double(c.preempted)};
        if (is_sampled(header)) {
          node.own_samples = of_list[0], node.library_samples = of_list[1], node.kernel_samples = of_list[2];
        } else {
          node.cycles = {of_list[0]}, node.blocked = {of_list[1]}, node.preempted = {of_list[2]};
        }
      }
    }
  }
}

// Makes the times of all nodes possible again: a list may be damaged.
void bound_times(Calls& calls, const prof_format::Header& header) {
  const bool is_estimated = header.type == prof_format::kAdaptive;
  for (Thread& thread : calls.threads) {
    for (RecordedNode& address : thread.addresses)
      address.own_samples = double(samples_of(whole(address.own_samples)).count);
    if (thread.nodes.empty()) continue;
    const SelfTimeLimit limit(header, thread.end);
    const RawCycles lived{thread.end > thread.start ? double(thread.end - thread.start) : 0};
    const RawCycles all = std::min(lived, thread.nodes[0].cycles), longest_wait{double(thread.waited)};
    for (RecordedNode& node : thread.nodes) {
      node.variance = 0;
      if (is_sampled(header)) {
        for (double* samples : {&node.own_samples, &node.library_samples, &node.kernel_samples})
          *samples = double(samples_of(whole(*samples)).count);
      } else if (is_estimated) {
        node.cycles = std::min(node.cycles, all);
      } else {
        const SelfTime self = limit.of(whole(node.cycles));
        node.cycles = {double(self.cycles)};
        node.has_impossible_time |= !self.is_possible;
        node.blocked = std::min(node.blocked, longest_wait);
        node.preempted = std::min(node.preempted, longest_wait);
      }
    }
  }
}

bool has_counted(const RecordedNode& node) {
  const bool has_cycles = (node.cycles + node.blocked + node.preempted).count != 0;
  return node.calls != 0 || has_cycles || node.own_samples + node.library_samples + node.kernel_samples != 0;
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
      kept[i] = i == 0 || has_counted(nodes[i]);
      const uint32_t first = nodes[i].first_child;
      for (uint32_t c = first; c < first + nodes[i].child_count && !kept[i]; ++c) kept[i] = kept[c];
    }
    if (!nodes.empty()) leave_out(nodes, kept);
  }
}

}  // namespace prof
