// Which blocks need none: silent_blocks.cc. It takes the dearest ones first. What a record costs is guessed by how often its block
// runs (frequencies.cc), and by what its code has to keep there.
//
// Ways. Where one way on from a conditional jump leads to a block that others lead to as well, a record may stand on that way:
// behind the jump, or far away, where the jump leads first. It often spares a dearer one: "if (seldom) goto out", again and
// again, needs a record on each way out, or in each block in between. Of the two ways of a jump, only the one that
// seems less likely may have a record. Where a jump enters the function anew, it has none: other code may be needed there than
// on other jumps (hooks).

#include "few_records.h"

#include <algorithm>

#include "frequencies.h"
#include "silent_blocks.h"

namespace profld {

namespace {

constexpr double kWriting = 8;  // what a record costs, in instructions beside those that keep what is live
constexpr double kFar = 2;      // that of a jump of its own

class Records {
 public:
  explicit Records(const RecordSites& sites) : sites_(sites), graph_(sites.graph()), count_(graph_.blocks().size()) {}

  std::optional<FunctionRecords> place() {
    make_nodes();
    const std::optional<SilentNodes> told = choose_silent(nodes_);
    if (!told) return std::nullopt;
    std::vector<uint32_t> numbers(nodes_.size(), TracedBlock::kNone);  // silent ways have none
    uint32_t next = 0;
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (n < count_ || !told->silent[n]) numbers[n] = next++;
    FunctionRecords records;
    records.of_part.resize(sites_.group().code.parts.size());
    records.edges.resize(records.of_part.size());
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (numbers[n] == TracedBlock::kNone) continue;
      records.blocks.push_back(traced_block(n, *told, numbers));
      if (told->silent[n]) continue;
      if (n < count_) {
        places_[n]->number = numbers[n];
        records.of_part[graph_.blocks()[n].part].push_back(std::move(*places_[n]));
      } else {
        Way& way = ways_[n - count_];
        way.record.number = numbers[n];
        records.edges[graph_.blocks()[way.from].part].push_back(std::move(way.record));
      }
    }
    return records;
  }

 private:
  struct Way {
    uint32_t from;  // block
    EdgeRecord record;
  };

  void make_nodes() {
    const Frequencies guessed = guess_frequencies(graph_, sites_.ends());
    std::vector<uint32_t> ways_in(count_);
    for (uint32_t b = 0; b < count_; ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      const std::span<const uint32_t> next = graph_.successors(b);
      nodes_.push_back({{next.begin(), next.end()}, false, is_entered(b), block.leaves, RecordNode::kNoPlace});
      std::vector<uint32_t>& own = nodes_.back().next;
      std::ranges::sort(own);
      own.erase(std::unique(own.begin(), own.end()), own.end());
      for (const uint32_t to : own) ++ways_in[to];
      places_.push_back(sites_.best_in(b));
      if (places_.back()) nodes_.back().cost = guessed.blocks[b] * (kWriting + cost_of(*places_.back()->record));
    }
    for (uint32_t b = 0; b < count_; ++b) add_way(b, guessed.ways[b], ways_in);
  }

  // A debugger, or a handler, lets go on what a breakpoint has stopped.
  bool is_entered(uint32_t b) const {
    const std::vector<BasicBlock>& blocks = graph_.blocks();
    if (b != 0 && blocks[b - 1].part == blocks[b].part && graph_.last_insn(blocks[b - 1]).flow == Flow::stop)
      return true;
    return blocks[b].entered;
  }

  void add_way(uint32_t b, const std::vector<double>& frequencies, const std::vector<uint32_t>& ways_in) {
    const BasicBlock& block = graph_.blocks()[b];
    const std::span<const uint32_t> next = graph_.successors(b);
    if (graph_.last_insn(block).flow != Flow::jump_if || block.leaves || next.size() != 2 || next[0] == next[1]) return;
    const auto may_have = [&](size_t way) { return ways_in[next[way]] > 1 && !graph_.blocks()[next[way]].entered; };
    const size_t unlikely = frequencies[1] < frequencies[0];
    const size_t way = may_have(unlikely) ? unlikely : 1 - unlikely;
    if (!may_have(way)) return;
    std::optional<RecordCode> code = sites_.code_between(b, next[way]);
    if (!code) return;
    const double cost = frequencies[way] * (kWriting + (way == 1 ? kFar : 0) + cost_of(*code));
    std::ranges::replace(nodes_[b].next, next[way], uint32_t(nodes_.size()));
    nodes_.push_back({{next[way]}, true, false, false, cost});
    ways_.push_back({b, EdgeRecord{block.end - 1, way == 1, 0, {}, std::move(code)}});
  }

  TracedBlock traced_block(size_t n, const SilentNodes& told, const std::vector<uint32_t>& numbers) const {
    TracedBlock block{};
    if (n < count_) {
      const BasicBlock& own = graph_.blocks()[n];
      block.range = graph_.range(own);
      block.instructions = own.end - own.first;
    }
    block.before = told.before[n] == SilentNodes::kNone ? TracedBlock::kNone : numbers[told.before[n]];
    block.is_told_by_ways = told.by_ways[n];
    block.is_from_outside = told.from_outside[n];
    if (nodes_[n].leaves) return block;
    for (const uint32_t to : nodes_[n].next)
      block.next.push_back(numbers[numbers[to] == TracedBlock::kNone ? nodes_[to].next[0] : to]);
    return block;
  }

  const RecordSites& sites_;
  const FlowGraph& graph_;
  const size_t count_;                               // of blocks
  std::vector<RecordNode> nodes_;                    // blocks, and behind them ways
  std::vector<std::optional<CounterPlace>> places_;  // by block
  std::vector<Way> ways_;
};

}  // namespace

std::optional<FunctionRecords> place_few_records(const RecordSites& sites) { return Records(sites).place(); }

}  // namespace profld
