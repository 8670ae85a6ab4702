// The code of a record (x86/record_code.h) needs a register, and changes the flags. It may stand anywhere in the block,
// so it stands where least has to be kept: before an instruction where the flags and a register are dead, if there is
// one. The block counts as run from its record on.
//
// It leaves alone the registers that the unwind table computes with there: a signal may come within a record, and its
// handler may unwind the stack, as glibc does to cancel a thread asynchronously (unwind/register_rules.h).
//
// It does not stand where nothing may (may_insert_before in flow_graph.h).

#include "record_sites.h"

#include <algorithm>

#include "flow_graph.h"

namespace profld {

namespace {

// In the order in which they are taken: the first ones make shorter code.
constexpr uint8_t kPreferred[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

uint8_t first_of(RegisterSet set) {
  for (const uint8_t reg : kPreferred)
    if (set >> reg & 1) return reg;
  return kNoRegister;
}

// Nullopt if the flags are live, and rax is not `usable`; or if there is no register. `values`: what is recorded.
std::optional<RecordCode> record_code(Flags live_flags, RegisterSet live_registers, RegisterSet usable,
                                      std::vector<uint8_t> values) {
  RecordCode code;
  if (live_flags != 0) {
    if ((usable >> kRax & 1) == 0) return std::nullopt;
    code.keeps_flags = true;
    code.saves_rax = live_registers >> kRax & 1;
    usable = RegisterSet(usable & ~(1u << kRax));
  }
  for (const uint8_t value : values)
    if (value < kRegisters) usable = RegisterSet(usable & ~(1u << value));
  const auto take = [&](uint8_t& reg, bool& is_live) {
    reg = first_of(RegisterSet(usable & ~live_registers));
    is_live = reg == kNoRegister;
    if (is_live) reg = first_of(usable);
    if (reg != kNoRegister) usable = RegisterSet(usable & ~(1u << reg));
    return reg != kNoRegister;
  };
  if (!take(code.scratch, code.saves_scratch)) return std::nullopt;
  if (needs_second(values, code.keeps_flags) && !take(code.second, code.saves_second)) return std::nullopt;
  code.values = std::move(values);
  return code;
}

}  // namespace

unsigned cost_of(const RecordCode& code) {
  return (code.keeps_flags ? 4u : 0u) + (code.saves_rax ? 2u : 0u) + (code.saves_scratch ? 2u : 0u) +
         (code.saves_second ? 2u : 0u) + (code.saves_rax || code.saves_scratch || code.saves_second ? 2u : 0u);
}

void keep_better(std::optional<CounterPlace>& best, uint32_t insn, const std::optional<RecordCode>& code) {
  if (code && (!best || cost_of(*code) <= cost_of(*best->record))) best = CounterPlace{insn, 0, {}, {}, *code};
}

RecordSites::RecordSites(const Program& program, const Group& group, const Arrivals& arrivals,
                         const FlagPassing& passing)
    : group_(group),
      arrivals_(arrivals),
      graph_(program, group, arrivals),
      flags_(program, group, graph_, passing),
      registers_(group, graph_) {
  for (const Code& part : group.code.parts) limits_.push_back(row_limits(*program.frames, part.range));
}

bool RecordSites::may_stand_before(const BasicBlock& b, uint32_t insn) const {
  const Code& code = group_.code.parts[b.part];
  return may_insert_before(code, code.insns[insn], arrivals_);
}

std::optional<RecordCode> RecordSites::code_at(size_t part, uint32_t insn, Flags live_flags, RegisterSet live_registers,
                                               std::vector<uint8_t> values) const {
  RegisterSet usable = kScratchRegisters;
  const Code& code = group_.code.parts[part];
  for (const RowLimit& limit : limits_[part]) {
    if (!limit.range.contains(code.address(code.insns[insn]))) continue;
    if (limit.fixes_stack) return std::nullopt;
    usable = RegisterSet(usable & ~limit.used_registers);
  }
  return record_code(live_flags, live_registers, usable, std::move(values));
}

std::optional<RecordCode> RecordSites::code_between(uint32_t from, uint32_t to, std::vector<uint8_t> values) const {
  const BasicBlock& block = graph_.blocks()[from];
  return code_at(block.part, block.end - 1, flags_.at_start(to), registers_.at_start(to), std::move(values));
}

std::optional<RecordCode> RecordSites::code_at_start(uint32_t b, std::vector<uint8_t> values) const {
  const BasicBlock& block = graph_.blocks()[b];
  if (!may_stand_before(block, block.first)) return std::nullopt;
  return code_at(block.part, block.first, flags_.at_start(b), registers_.at_start(b), std::move(values));
}

RecordSites::Live RecordSites::live_in(uint32_t b) const {
  const BasicBlock& block = graph_.blocks()[b];
  Live live{std::vector<Flags>(block.end - block.first), std::vector<RegisterSet>(block.end - block.first)};
  flags_.each_insn(b, [&](uint32_t i, Flags l) { live.flags[i - block.first] = l; });
  registers_.each_insn(b, [&](uint32_t i, RegisterSet l) { live.registers[i - block.first] = l; });
  return live;
}

std::optional<CounterPlace> RecordSites::best_in(uint32_t b) const {
  const BasicBlock& block = graph_.blocks()[b];
  const Live live = live_in(b);
  std::optional<CounterPlace> best;
  for (uint32_t i = block.end; i-- > block.first;)
    if (may_stand_before(block, i))
      keep_better(best, i, code_at(block.part, i, live.flags[i - block.first], live.registers[i - block.first]));
  return best;
}

std::vector<bool> RecordSites::ends() const {
  std::vector<bool> ends;
  for (const BasicBlock& b : graph_.blocks()) {
    const Insn& last = graph_.last_insn(b);
    ends.push_back(last.flow == Flow::stop || flags_.never_returns(group_.code.parts[b.part], last));
  }
  return ends;
}

// What a record costs is guessed by how often its block runs (flow_graph.cc), and by what its code has to keep there.
//
// Ways. Where one way on from a conditional jump leads to a block that others lead to as well, a record may stand on
// that way: after the jump, or far away, where the jump leads first. It often spares a dearer one: "if (seldom) goto
// out", again and again, needs a record on each way out, or in each block in between. Of the two ways of a jump, only
// the one that seems less likely may have a record. Where a jump enters the function anew, it has none: other code may
// be needed there than on other jumps (hooks).

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
