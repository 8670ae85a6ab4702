#include "flow_graph.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace prof {

namespace {

constexpr uint32_t kNoBlock = UINT32_MAX;

bool is_call(const Instruction& i) { return i.transfer == Transfer::call || i.transfer == Transfer::call_indirect; }

uint32_t block_at(const std::vector<FlowBlock>& blocks, uint64_t address) {
  const auto at = std::lower_bound(blocks.begin(), blocks.end(), address,
                                   [](const FlowBlock& block, uint64_t a) { return block.start < a; });
  return at != blocks.end() && at->start == address ? uint32_t(at - blocks.begin()) : kNoBlock;
}

// Finds the counts of arcs.
class Solver {
 public:
  Solver(FlowGraph& graph, uint64_t entry) : graph_(graph), ends_(graph.blocks.size()), is_known_(graph.arcs.size()) {
    for (uint32_t a = 0; a < graph.arcs.size(); ++a) {
      ends_[graph.arcs[a].from].out.add(a);
      ends_[graph.arcs[a].to].in.add(a);
    }
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      const FlowBlock& block = graph.blocks[b];
      Ends& ends = ends_[b];
      ends.rest_in = ends.rest_out = block.count;
      has_indirect_jump_ |= block.last.transfer == Transfer::jump_indirect && !block.has_targets;
      ends.has_all_out = ends.out.all == ways_out(block) || block.has_targets;
      ends.has_all_in = block.start != entry;
    }
  }

  void solve() {
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a)
      if (graph_.arcs[a].is_counted) set(a, graph_.arcs[a].count);
    settle_all();
    // An indirect jump may lead to any block; if nothing else tells, it is taken to lead to none that has other ways
    // in: first of all not to the one that it ends, which control comes to from the check whether the table has an
    // entry.
    trust_ = Trust::into_jumps;
    settle_all();
    trust_ = Trust::all;
    settle_all();
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a) graph_.arcs[a].is_exact = is_known_[a];
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a) {
      if (is_known_[a]) continue;
      set(a, most(a));
      settle();
    }
  }

 private:
  // Arcs at one end of a block.
  struct Arcs {
    size_t all = 0, unknown = 0;
    uint64_t sum_of_unknown = 0;  // of their indices: of a single one, that is its index
    void add(uint32_t a) { ++all, ++unknown, sum_of_unknown += a; }
    void know(uint32_t a) { --unknown, sum_of_unknown -= a; }
    std::optional<uint32_t> only_unknown() const {
      return unknown == 1 ? std::optional(uint32_t(sum_of_unknown)) : std::nullopt;
    }
  };
  struct Ends {
    Arcs in, out;
    uint64_t rest_in = 0, rest_out = 0;          // executions that no known arc explains
    bool has_all_in = true, has_all_out = true;  // there are no other ways
  };

  // How many arcs leave a block that lose nothing; SIZE_MAX if some flow is in none.
  static size_t ways_out(const FlowBlock& block) {
    switch (block.last.transfer) {
      case Transfer::none:
      case Transfer::jump:
        return 1;
      case Transfer::branch:
        return block.last.target == block.end ? 1 : 2;
      default:
        return SIZE_MAX;
    }
  }

  uint64_t most(uint32_t a) const {
    const FlowArc& arc = graph_.arcs[a];
    return std::min(ends_[arc.from].rest_out, ends_[arc.to].rest_in);
  }

  void set(uint32_t a, uint64_t count) {
    FlowArc& arc = graph_.arcs[a];
    arc.count = count;
    is_known_[a] = true;
    Ends &from = ends_[arc.from], &to = ends_[arc.to];
    from.rest_out -= std::min(from.rest_out, count);
    to.rest_in -= std::min(to.rest_in, count);
    from.out.know(a);
    to.in.know(a);
    changed_.push_back(arc.from);
    changed_.push_back(arc.to);
  }

  void settle_all() {
    for (uint32_t b = 0; b < ends_.size(); ++b) changed_.push_back(b);
    settle();
  }

  // Whether no indirect jump is taken to lead to a block.
  bool trusts_ways_into(uint32_t b) const {
    return !has_indirect_jump_ || trust_ == Trust::all ||
           (trust_ == Trust::into_jumps && graph_.blocks[b].last.transfer == Transfer::jump_indirect);
  }

  void settle() {
    while (!changed_.empty()) {
      const uint32_t b = changed_.back();
      changed_.pop_back();
      if (const auto a = ends_[b].has_all_out ? ends_[b].out.only_unknown() : std::nullopt) set(*a, ends_[b].rest_out);
      if (!ends_[b].has_all_in || !trusts_ways_into(b)) continue;
      if (const auto a = ends_[b].in.only_unknown()) set(*a, most(*a));
    }
  }

  FlowGraph& graph_;
  std::vector<Ends> ends_;  // by block
  std::vector<bool> is_known_;
  std::vector<uint32_t> changed_;
  bool has_indirect_jump_ = false;
  enum class Trust { none, into_jumps, all } trust_ = Trust::none;
};

void add_blocks(FlowGraph& graph, const BlockCount& block, const std::string& code) {
  FlowBlock part;
  const auto begin = [&](uint64_t start, bool is_after_call) {
    part = FlowBlock();
    part.start = part.end = start;
    part.count = block.count;
    part.is_after_call = is_after_call;
  };
  begin(block.address, false);
  for (const Instruction& instruction : decode_instructions(code, block.address)) {
    part.end = instruction.end();
    part.last = instruction;
    if (!instruction.is_nop) part.last_but_nops = instruction.address;
    if (!instruction.only_moves)
      part.end_of_function = UINT64_MAX;
    else if (part.end_of_function == UINT64_MAX)
      part.end_of_function = instruction.address;
    if (!is_call(instruction)) continue;
    graph.blocks.push_back(part);
    begin(part.end, true);
  }
  if (part.end > part.start) graph.blocks.push_back(part);
}

// Those of the jump through a table at the end of a block, the last one of the graph that is a part of it.
void add_targets(FlowGraph& graph, const BlockCount& block, const WaysOn& ways) {
  const auto is_before = [&](const BlockTarget& target) {
    return std::pair(target.object, target.from) < std::pair(block.object, block.address);
  };
  const auto after = std::ranges::upper_bound(graph.blocks, block.address + (block.size - 1), {}, &FlowBlock::start);
  if (after == graph.blocks.begin()) return;
  const auto from = uint32_t(std::prev(after) - graph.blocks.begin());
  if (graph.blocks[from].last.transfer != Transfer::jump_indirect) return;
  std::vector<FlowArc> arcs;
  for (auto target = std::partition_point(ways.targets.begin(), ways.targets.end(), is_before);
       target != ways.targets.end() && target->object == block.object && target->from == block.address; ++target)
    arcs.push_back({.from = from, .to = block_at(graph.blocks, target->to), .is_likely = target->is_likely});
  if (arcs.empty() || std::ranges::find(arcs, kNoBlock, &FlowArc::to) != arcs.end()) return;
  graph.arcs.insert(graph.arcs.end(), arcs.begin(), arcs.end());
  graph.blocks[from].has_targets = true;
}

// The way on from the conditional jump that ends there, if its count is known.
const WayCount* way_at(const WaysOn& ways, uint32_t object, uint64_t end) {
  const auto is_before = [&](const WayCount& way) { return std::pair(way.object, way.end) < std::pair(object, end); };
  const auto at = std::partition_point(ways.ways.begin(), ways.ways.end(), is_before);
  return at != ways.ways.end() && at->object == object && at->end == end ? &*at : nullptr;
}

void add_arcs(FlowGraph& graph, uint32_t from, const WaysOn& ways, uint32_t object) {
  const FlowBlock& block = graph.blocks[from];
  const auto add = [&](uint64_t address) {
    const uint32_t to = block_at(graph.blocks, address);
    if (to != kNoBlock) graph.arcs.push_back({from, to});
    return to != kNoBlock;
  };
  const Instruction& last = block.last;
  const WayCount* way = last.transfer == Transfer::branch ? way_at(ways, object, block.end) : nullptr;
  const auto count = [&](bool is_taken) {
    if (!way || way->is_taken != is_taken) return;
    graph.arcs.back().count = way->count;
    graph.arcs.back().is_counted = true;
  };
  // A call in front of the function's entry, which ends a part of it that stands there (f.cold), does not come back.
  const bool goes_on = last.transfer == Transfer::none || last.transfer == Transfer::branch ||
                       (is_call(last) && block.end != graph.entry);
  if (goes_on && add(block.end)) count(false);
  const bool jumps = last.transfer == Transfer::jump || last.transfer == Transfer::branch;
  if (jumps && last.target && (!goes_on || last.target != block.end) && add(*last.target)) count(true);
}

}  // namespace

FlowGraph flow_graph(std::span<const BlockCount> blocks, const WaysOn& ways, uint64_t entry,
                     const std::function<std::string(uint64_t address, uint64_t size)>& code) {
  FlowGraph graph = flow_graph_without_counts(blocks, ways, entry, code);
  count_arcs(graph);
  return graph;
}

void count_arcs(FlowGraph& graph) { Solver(graph, graph.entry).solve(); }

FlowGraph flow_graph_without_counts(std::span<const BlockCount> blocks, const WaysOn& ways, uint64_t entry,
                                    const std::function<std::string(uint64_t address, uint64_t size)>& code) {
  FlowGraph graph;
  graph.entry = entry;
  const uint32_t object = blocks.empty() ? 0 : blocks[0].object;
  for (const BlockCount& block : blocks) {
    const std::string bytes = code(block.address, block.size);
    if (bytes.size() == block.size) {
      add_blocks(graph, block, bytes);
    } else {  // its lines are known, if not where it leads
      FlowBlock& unknown = graph.blocks.emplace_back();
      unknown.start = block.address;
      unknown.end = block.address + block.size;
      unknown.count = block.count;
      unknown.last.transfer = Transfer::jump_indirect;
    }
  }
  for (size_t i = 1; i < graph.blocks.size(); ++i)
    if (graph.blocks[i - 1].end == graph.blocks[i].start && is_call(graph.blocks[i - 1].last))
      graph.blocks[i].is_after_call = true;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) add_arcs(graph, b, ways, object);
  for (size_t b = 0; b < blocks.size(); ++b)
    if (b == 0 || blocks[b].address != blocks[b - 1].address) add_targets(graph, blocks[b], ways);
  return graph;
}

}  // namespace prof
