// Which. A record costs some eight cycles, as long as each takes its place from the one before, and that is more than most
// blocks take. So a block writes none if what follows tells that it ran: if control does not leave the function behind it,
// and each of its successors can be reached from it alone. The record of the one that comes next then stands for both. If
// that holds for one way on from a conditional jump, there is a record on the other way instead: code between the jump and
// what stands behind it, or far away, where the jump leads first. Not so where that way leads back, as from the end of a
// loop: the block itself writes as seldom. (More could be left out if a reader guessed what ran from what comes next. But a
// signal's handler may come between any two blocks, and then the guess would be wrong.) What runs behind the last record is
// not in the trace: when the program is killed, or a handler leaves by siglongjmp, these are a few blocks at most.
//
// Where. The code of a record (x86/record_code.h) needs a register, and changes the flags. It may stand anywhere in the
// block, so it stands where least has to be kept: before an instruction where the flags and a register are dead, if there is
// one. The block counts as run from its record on.
//
// It leaves alone the registers that the unwind table computes with there: a signal may come within a record, and its handler
// may unwind the stack, as glibc does to cancel a thread asynchronously (unwind/register_rules.h).
//
// It does not stand where nothing may (may_insert_before in arrivals.h). A function with a block that has no other place is
// not traced, and the report says so.

#include "trace_records.h"

#include <algorithm>

#include "libprof/format/trace.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/unwind/register_rules.h"
#include "live_flags.h"
#include "live_registers.h"

namespace profld {

namespace {

// In the order in which they are taken: the first ones make shorter code.
constexpr uint8_t kPreferred[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

uint8_t first_of(RegisterSet set) {
  for (const uint8_t reg : kPreferred)
    if (set >> reg & 1) return reg;
  return kNoRegister;
}

// How many instructions are needed besides those that write.
unsigned cost_of(const RecordCode& code) {
  return (code.keeps_flags ? 4u : 0u) + (code.saves_rax ? 2u : 0u) + (code.saves_scratch ? 2u : 0u) +
         (code.saves_rax || code.saves_scratch ? 2u : 0u);
}

// Nullopt if the flags are live, and rax is not `usable`.
std::optional<RecordCode> record_code(Flags live_flags, RegisterSet live_registers, RegisterSet usable) {
  RecordCode code;
  if (live_flags != 0) {
    if ((usable >> kRax & 1) == 0) return std::nullopt;
    code.keeps_flags = true;
    code.saves_rax = live_registers >> kRax & 1;
    usable = RegisterSet(usable & ~(1u << kRax));
  }
  code.scratch = first_of(RegisterSet(usable & ~live_registers));
  if (code.scratch == kNoRegister) {
    code.scratch = first_of(usable);
    code.saves_scratch = true;
  }
  if (code.scratch == kNoRegister) return std::nullopt;
  return code;
}

class FunctionRecords {
 public:
  FunctionRecords(const Program& program, const Group& group, const Arrivals& arrivals, const FlagPassing& passing)
      : group_(group),
        arrivals_(arrivals),
        graph_(program, group, arrivals),
        flags_(program, group, graph_, passing),
        registers_(group, graph_) {
    for (const Code& part : group.code.parts) limits_.push_back(row_limits(*program.frames, part.range));
  }

  // False if some block has no place for it. Blocks are numbered from 0.
  bool place(std::vector<std::vector<CounterPlace>>& of_part, std::vector<std::vector<EdgeRecord>>& edges,
             std::vector<TracedBlock>& blocks) {
    of_part.resize(group_.code.parts.size());
    edges.resize(of_part.size());
    find_predecessors();
    find_silent();
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      if (!is_silent_[b]) {
        const std::optional<CounterPlace> best = best_place(b);
        if (!best) return false;
        of_part[block.part].push_back(*best);
        of_part[block.part].back().number = b;
      }
      const uint32_t before =
          before_[b] != TracedBlock::kNone && is_silent_[before_[b]] ? before_[b] : TracedBlock::kNone;
      blocks.push_back({graph_.range(block), block.end - block.first, before});
    }
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const std::optional<size_t> way = is_silent_[b] ? way_to_shared(b) : std::nullopt;
      if (!way) continue;
      const BasicBlock& block = graph_.blocks()[b];
      const uint32_t next = graph_.successors(b)[*way];
      const std::optional<RecordCode> code =
          code_at(block.part, block.end - 1, flags_.at_start(next), registers_.at_start(next));
      if (!code) return false;
      edges[block.part].push_back({block.end - 1, *way == kTaken, uint32_t(blocks.size()), *code});
      blocks.push_back({{}, 0, b});
    }
    return true;
  }

 private:
  // Of the successors of a block that ends with a conditional jump.
  static constexpr size_t kBehind = 0, kTaken = 1;

  // In a circle of blocks one has another predecessor, or control never comes there; such a circle is cut where it goes
  // back.
  void find_predecessors() {
    const size_t count = graph_.blocks().size();
    std::vector<uint32_t> ways_in(count);
    before_.assign(count, TracedBlock::kNone);
    is_silent_.assign(count, false);
    for (uint32_t b = 0; b < count; ++b)
      for (const uint32_t s : graph_.successors(b)) {
        ++ways_in[s];
        before_[s] = b;
      }
    for (uint32_t b = 0; b < count; ++b)
      if (ways_in[b] != 1 || graph_.blocks()[b].entered || before_[b] >= b) before_[b] = TracedBlock::kNone;
  }

  // The one of two ways on from a conditional jump that leads to a block with other predecessors.
  std::optional<size_t> way_to_shared(uint32_t b) const {
    const std::span<const uint32_t> next = graph_.successors(b);
    if (graph_.last_insn(graph_.blocks()[b]).flow != Flow::jump_if || next.size() != 2) return std::nullopt;
    const bool behind_is_own = before_[next[kBehind]] == b, taken_is_own = before_[next[kTaken]] == b;
    if (behind_is_own == taken_is_own) return std::nullopt;
    return behind_is_own ? kTaken : kBehind;
  }

  bool is_told_by_others(uint32_t b) const {
    if (graph_.blocks()[b].leaves) return false;
    const std::span<const uint32_t> next = graph_.successors(b);
    if (std::ranges::all_of(next, [&](uint32_t s) { return before_[s] == b; })) return true;
    const std::optional<size_t> way = way_to_shared(b);
    return way && next[*way] > b && !graph_.blocks()[next[*way]].entered;  // not where a hook may stand on the way
  }

  bool may_stand_before(const BasicBlock& b, uint32_t i) const {
    const Code& code = group_.code.parts[b.part];
    return may_insert_before(code, code.insns[i], arrivals_);
  }

  // Of a record before the instruction `i` of a part, or behind it if it is a jump.
  std::optional<RecordCode> code_at(size_t part, uint32_t i, Flags live_flags, RegisterSet live_registers) const {
    RegisterSet usable = kScratchRegisters;
    const Code& code = group_.code.parts[part];
    for (const RowLimit& limit : limits_[part]) {
      if (!limit.range.contains(code.address(code.insns[i]))) continue;
      if (limit.fixes_stack) return std::nullopt;
      usable = RegisterSet(usable & ~limit.used_registers);
    }
    return record_code(live_flags, live_registers, usable);
  }

  // Not too many that follow each other: the record of the last one stands for all of them.
  void find_silent() {
    std::vector<uint32_t> chain(graph_.blocks().size());  // silent blocks before each
    for (uint32_t b = 0; b < chain.size(); ++b) {
      if (before_[b] != TracedBlock::kNone && is_silent_[before_[b]]) chain[b] = chain[before_[b]] + 1;
      is_silent_[b] = chain[b] + 1 < prof_format::kMostBlocksBefore && is_told_by_others(b);
    }
  }

  std::optional<CounterPlace> best_place(uint32_t b) const {
    const BasicBlock& block = graph_.blocks()[b];
    std::vector<Flags> live_flags(block.end - block.first);
    flags_.each_insn(b, [&](uint32_t i, Flags live) { live_flags[i - block.first] = live; });
    std::optional<CounterPlace> best;
    registers_.each_insn(b, [&](uint32_t i, RegisterSet live) {
      if (!may_stand_before(block, i)) return;
      const std::optional<RecordCode> code = code_at(block.part, i, live_flags[i - block.first], live);
      if (code && (!best || cost_of(*code) <= cost_of(*best->record))) best = CounterPlace{i, 0, {}, false, *code};
    });
    return best;
  }

  const Group& group_;
  const Arrivals& arrivals_;
  const FlowGraph graph_;
  const LiveFlags flags_;
  const LiveRegisters registers_;
  std::vector<std::vector<RowLimit>> limits_;  // by part
  std::vector<uint32_t> before_;  // by block, its only predecessor; kNone if it has others, or control enters there
  std::vector<bool> is_silent_;   // by block: it writes no record
};

}  // namespace

BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries) {
  refuse_use_of_gs(program);
  const Arrivals arrivals = find_arrivals(program, old_entries);
  const FlagPassing passing = find_flag_passing(program, arrivals, kAllFlags);
  struct Found {
    std::vector<std::vector<CounterPlace>> of_part;
    std::vector<std::vector<EdgeRecord>> edges;
    std::vector<TracedBlock> blocks;
    bool is_traced = false;
  };
  std::vector<Found> found(program.groups.size());
  parallel_for(found.size(), [&](size_t g) {
    const Group& group = program.groups[g];
    if (group.moves())
      found[g].is_traced =
          FunctionRecords(program, group, arrivals, passing).place(found[g].of_part, found[g].edges, found[g].blocks);
  });

  uint64_t count = 0;
  for (const Found& f : found)
    if (f.is_traced) count += f.blocks.size();
  const uint8_t record_size = count < std::numeric_limits<uint16_t>::max() ? sizeof(uint16_t) : sizeof(uint32_t);

  BlockCounters all;
  all.record_size = record_size;
  all.of_range.resize(program.ranges.size());
  all.edges.resize(program.ranges.size());
  for (size_t g = 0; g < found.size(); ++g) {
    const Group& group = program.groups[g];
    if (!group.moves()) continue;
    if (!found[g].is_traced) {
      ++all.uncounted;
      continue;
    }
    const uint32_t first = uint32_t(all.traced.size());
    for (size_t p = 0; p < found[g].of_part.size(); ++p) {
      for (CounterPlace& place : found[g].of_part[p]) {
        place.number += first;
        place.record->size = record_size;
      }
      for (EdgeRecord& edge : found[g].edges[p]) {
        edge.number += first;
        edge.record.size = record_size;
      }
      all.of_range[group.ranges[p]] = std::move(found[g].of_part[p]);
      all.edges[group.ranges[p]] = std::move(found[g].edges[p]);
    }
    for (TracedBlock& block : found[g].blocks) {
      if (block.before != TracedBlock::kNone) block.before += first;
      all.traced.push_back(block);
    }
  }
  return all;
}

}  // namespace profld
