#include "flow_graph.h"

#include <algorithm>
#include <optional>

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
      ends_[graph.arcs[a].from].out.push_back(a);
      ends_[graph.arcs[a].to].in.push_back(a);
    }
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      const FlowBlock& block = graph.blocks[b];
      Ends& ends = ends_[b];
      ends.rest_in = ends.rest_out = block.count;
      has_indirect_jump_ |= block.last.transfer == Transfer::jump_indirect;
      ends.has_all_out = ends.out.size() == ways_out(block);
      ends.has_all_in = block.start != entry;
    }
  }

  void solve() {
    settle_all();
    // An indirect jump may lead to any block; if nothing else tells, it is taken to lead to none that has other ways
    // in: first of all not to the one that it ends, which control comes to from the check whether the table has an
    // entry.
    trust_ = Trust::into_jumps;
    settle_all();
    trust_ = Trust::all;
    settle_all();
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a) {
      if (is_known_[a]) continue;
      graph_.arcs[a].is_exact = false;
      set(a, most(a));
      settle();
    }
  }

 private:
  struct Ends {
    std::vector<uint32_t> in, out;               // arcs
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
    changed_.push_back(arc.from);
    changed_.push_back(arc.to);
  }

  std::optional<uint32_t> only_unknown(const std::vector<uint32_t>& arcs) const {
    std::optional<uint32_t> found;
    for (const uint32_t a : arcs) {
      if (is_known_[a]) continue;
      if (found) return {};
      found = a;
    }
    return found;
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
      if (const auto a = ends_[b].has_all_out ? only_unknown(ends_[b].out) : std::nullopt) set(*a, ends_[b].rest_out);
      if (!ends_[b].has_all_in || !trusts_ways_into(b)) continue;
      if (const auto a = only_unknown(ends_[b].in)) set(*a, most(*a));
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

void add_arcs(FlowGraph& graph, uint32_t from) {
  const FlowBlock& block = graph.blocks[from];
  const auto add = [&](uint64_t address) {
    const uint32_t to = block_at(graph.blocks, address);
    if (to != kNoBlock) graph.arcs.push_back({from, to});
  };
  const Instruction& last = block.last;
  const bool goes_on = last.transfer == Transfer::none || last.transfer == Transfer::branch || is_call(last);
  if (goes_on) add(block.end);
  const bool jumps = last.transfer == Transfer::jump || last.transfer == Transfer::branch;
  if (jumps && last.target && (!goes_on || last.target != block.end)) add(*last.target);
}

}  // namespace

FlowGraph flow_graph(std::span<const BlockCount> blocks, uint64_t entry,
                     const std::function<std::string(uint64_t address, uint64_t size)>& code) {
  FlowGraph graph = flow_graph_without_counts(blocks, entry, code);
  count_arcs(graph);
  return graph;
}

void count_arcs(FlowGraph& graph) { Solver(graph, graph.entry).solve(); }

FlowGraph flow_graph_without_counts(std::span<const BlockCount> blocks, uint64_t entry,
                                    const std::function<std::string(uint64_t address, uint64_t size)>& code) {
  FlowGraph graph;
  graph.entry = entry;
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
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) add_arcs(graph, b);
  return graph;
}

}  // namespace prof
