// What a record costs is guessed by how often its block runs (frequencies.cc), and by what its code has to keep there.
//
// Ways. Where one way on from a conditional jump leads to a block that others lead to as well, a record may stand on that way:
// behind the jump, or far away, where the jump leads first. It often spares a dearer one: "if (seldom) goto out", again and
// again, needs a record on each way out, or in each block in between. Of the two ways of a jump, only the one that
// seems less likely may have a record. Where a jump enters the function anew, it has none: other code may be needed there than
// on other jumps (hooks).

#include "record_nodes.h"

#include <algorithm>

#include "frequencies.h"

namespace profld {

namespace {

constexpr double kFar = 2;  // what a jump of its own costs

// A debugger, or a handler, lets go on what a breakpoint has stopped.
bool is_entered(const FlowGraph& graph, uint32_t b) {
  const std::vector<BasicBlock>& blocks = graph.blocks();
  if (b != 0 && blocks[b - 1].part == blocks[b].part && graph.last_insn(blocks[b - 1]).flow == Flow::stop) return true;
  return blocks[b].entered;
}

void add_way(RecordNodes& all, const RecordSites& sites, uint32_t b, const std::vector<double>& frequencies,
             const std::vector<uint32_t>& ways_in, double writing) {
  const FlowGraph& graph = sites.graph();
  const BasicBlock& block = graph.blocks()[b];
  const std::span<const uint32_t> next = graph.successors(b);
  if (graph.last_insn(block).flow != Flow::jump_if || block.leaves || next.size() != 2 || next[0] == next[1]) return;
  const auto may_have = [&](size_t way) { return ways_in[next[way]] > 1 && !graph.blocks()[next[way]].entered; };
  const size_t unlikely = frequencies[1] < frequencies[0];
  const size_t way = may_have(unlikely) ? unlikely : 1 - unlikely;
  if (!may_have(way)) return;
  std::optional<RecordCode> code = sites.code_between(b, next[way]);
  if (!code) return;
  const double cost = frequencies[way] * (writing + (way == 1 ? kFar : 0) + cost_of(*code));
  std::ranges::replace(all.nodes[b].next, next[way], uint32_t(all.nodes.size()));
  all.nodes.push_back({{next[way]}, true, false, false, cost});
  all.frequency.push_back(frequencies[way]);
  all.ways.push_back({b, next[way], EdgeRecord{block.end - 1, way == 1, 0, {}, std::move(code)}});
}

}  // namespace

RecordNodes record_nodes(const RecordSites& sites, double writing) {
  const FlowGraph& graph = sites.graph();
  const uint32_t count = uint32_t(graph.blocks().size());
  Frequencies guessed = guess_frequencies(graph, sites.ends());
  RecordNodes all;
  std::vector<uint32_t> ways_in(count);
  for (uint32_t b = 0; b < count; ++b) {
    const std::span<const uint32_t> next = graph.successors(b);
    all.nodes.push_back(
        {{next.begin(), next.end()}, false, is_entered(graph, b), graph.blocks()[b].leaves, RecordNode::kNoPlace});
    std::vector<uint32_t>& own = all.nodes.back().next;
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    for (const uint32_t to : own) ++ways_in[to];
    all.places.push_back(sites.best_in(b));
    if (const auto& place = all.places.back())
      all.nodes.back().cost = guessed.blocks[b] * (writing + cost_of(*place->record));
  }
  all.frequency = std::move(guessed.blocks);
  for (uint32_t b = 0; b < count; ++b) add_way(all, sites, b, guessed.ways[b], ways_in, writing);
  return all;
}

}  // namespace profld
