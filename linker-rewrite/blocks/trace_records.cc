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
// Memory. With --trace=memory, a record has values, too: registers, by which the addresses of all accesses in the block can
// be told (block_addresses.h). One value gives several of them; what all registers hold at the place of the record is known.
// Where no place will do for all of a block's accesses, as when a pointer is loaded into the register of the pointer before,
// the block is cut into parts, each with a record of its own: into as few as possible, since a part grows as long as there is
// a place in it where all values that it needs are in registers. A block may be silent as before if the values that it needs
// are still there at its end: then the records of all blocks behind it have them, too, and each tells in its own way what the
// silent block touched. If there is no place for a value at all, the table says that the address is not known; so it does of
// the few instructions whose addresses are not in general registers.
//
// It does not stand where nothing may (may_insert_before in arrivals.h). A function with a block that has no other place is
// not traced, and the report says so.

#include "trace_records.h"

#include <algorithm>

#include "libprof/format/trace.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/decide/gs_use.h"
#include "linker-rewrite/unwind/register_rules.h"
#include "live_flags.h"
#include "live_registers.h"
#include "recorded_values.h"

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
         (code.saves_second ? 2u : 0u) + (code.saves_rax || code.saves_scratch || code.saves_second ? 2u : 0u);
}

// Nullopt if the flags are live, and rax is not `usable`; or if there is no register. `values`: what is recorded.
std::optional<RecordCode> record_code(Flags live_flags, RegisterSet live_registers, RegisterSet usable,
                                      std::vector<uint8_t> values = {}) {
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

class FunctionRecords {
 public:
  FunctionRecords(const Program& program, const Group& group, const Arrivals& arrivals, const FlagPassing& passing,
                  bool has_memory)
      : has_memory_(has_memory),
        group_(group),
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
    numbers_.resize(graph_.blocks().size());
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      std::vector<CounterPlace>& places = of_part[graph_.blocks()[b].part];
      if (!(has_memory_ ? place_parts(b, places, blocks) : place_one(b, places, blocks))) return false;
    }
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const std::optional<size_t> way = is_silent_[b] ? way_to_shared(b) : std::nullopt;
      if (!way) continue;
      const BasicBlock& block = graph_.blocks()[b];
      const std::optional<Path> path = has_memory_ ? std::optional(path_through(b)) : std::nullopt;
      std::vector<uint8_t> values;
      if (path) values = values_before(path->addresses, path->addresses.size(), needs_of(*path)).value();
      const uint32_t next = graph_.successors(b)[*way];
      const std::optional<RecordCode> code =
          code_at(block.part, block.end - 1, flags_.at_start(next), registers_.at_start(next), std::move(values));
      if (!code) return false;
      const uint32_t before = path ? add_silent(*path, *code, path->addresses.size(), blocks) : numbers_[b];
      edges[block.part].push_back({block.end - 1, *way == kTaken, uint32_t(blocks.size()), {}, *code});
      blocks.push_back({{}, 0, before, uint32_t(code->values.size())});
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
  std::optional<RecordCode> code_at(size_t part, uint32_t i, Flags live_flags, RegisterSet live_registers,
                                    std::vector<uint8_t> values = {}) const {
    RegisterSet usable = kScratchRegisters;
    const Code& code = group_.code.parts[part];
    for (const RowLimit& limit : limits_[part]) {
      if (!limit.range.contains(code.address(code.insns[i]))) continue;
      if (limit.fixes_stack) return std::nullopt;
      usable = RegisterSet(usable & ~limit.used_registers);
    }
    return record_code(live_flags, live_registers, usable, std::move(values));
  }

  // Silent blocks that run one behind the other, and what is appended to them.
  struct Path {
    std::vector<uint32_t> silent;  // in the order in which they run
    BlockAddresses addresses;
  };
  // Those up to the block b, which is the last one, if it is silent itself.
  Path path_through(uint32_t b) const {
    Path path;
    for (; b != TracedBlock::kNone && is_silent_[b]; b = before_[b]) path.silent.push_back(b);
    std::ranges::reverse(path.silent);
    for (const uint32_t s : path.silent) append(path.addresses, s);
    return path;
  }
  void append(BlockAddresses& addresses, uint32_t b) const {
    const BasicBlock& block = graph_.blocks()[b];
    addresses.append(group_.code.parts[block.part], block.first, block.end);
  }
  static RecordNeeds needs_of(const Path& path) {
    RecordNeeds needs;
    for (const BlockAccess& access : path.addresses.accesses()) needs.add(access);
    return needs;
  }

  // Whether the records behind a block can have its values, and those of the silent blocks before it. So much is certain if
  // they can where the next one begins, and do not leave too few registers for its own.
  bool leaves_values(uint32_t b) {
    is_silent_[b] = true;
    const Path path = path_through(b);
    is_silent_[b] = false;
    const RecordNeeds needs = needs_of(path);
    if (needs.fs || needs.flags || needs.values.size() > kMostValuesBehind) return false;
    const auto values = values_before(path.addresses, path.addresses.size(), needs);
    return values && std::ranges::all_of(graph_.successors(b), [&](uint32_t s) {
             const bool is_own = before_[s] == b;
             const BasicBlock& at = graph_.blocks()[is_own ? s : b];
             if (is_own && !may_stand_before(at, at.first)) return false;
             const uint32_t insn = is_own ? at.first : at.end - 1;
             return code_at(at.part, insn, flags_.at_start(s), registers_.at_start(s), *values).has_value();
           });
  }

  // Not too many that follow each other: the record of the last one stands for all of them.
  void find_silent() {
    std::vector<uint32_t> chain(graph_.blocks().size());  // silent blocks before each
    for (uint32_t b = 0; b < chain.size(); ++b) {
      if (before_[b] != TracedBlock::kNone && is_silent_[before_[b]]) chain[b] = chain[before_[b]] + 1;
      const uint32_t most = has_memory_ ? kMostSilentWithMemory : prof_format::kMostBlocksBefore;
      is_silent_[b] = chain[b] + 1 < most && is_told_by_others(b) && (!has_memory_ || leaves_values(b));
    }
  }

  // What is live before each instruction of a block.
  struct Live {
    std::vector<Flags> flags;
    std::vector<RegisterSet> registers;
  };
  Live live_in(uint32_t b) const {
    const BasicBlock& block = graph_.blocks()[b];
    Live live{std::vector<Flags>(block.end - block.first), std::vector<RegisterSet>(block.end - block.first)};
    flags_.each_insn(b, [&](uint32_t i, Flags l) { live.flags[i - block.first] = l; });
    registers_.each_insn(b, [&](uint32_t i, RegisterSet l) { live.registers[i - block.first] = l; });
    return live;
  }

  // False if there is no place for its record. Without memory.
  bool place_one(uint32_t b, std::vector<CounterPlace>& places, std::vector<TracedBlock>& blocks) {
    const BasicBlock& block = graph_.blocks()[b];
    const uint32_t before =
        before_[b] != TracedBlock::kNone && is_silent_[before_[b]] ? numbers_[before_[b]] : TracedBlock::kNone;
    numbers_[b] = uint32_t(blocks.size());
    blocks.push_back({graph_.range(block), block.end - block.first, before});
    if (is_silent_[b]) return true;
    const Live live = live_in(b);
    std::optional<CounterPlace> best;
    for (uint32_t i = block.end; i-- > block.first;)
      if (may_stand_before(block, i))
        keep_better(best, i, code_at(block.part, i, live.flags[i - block.first], live.registers[i - block.first]));
    if (!best) return false;
    best->number = numbers_[b];
    places.push_back(*best);
    return true;
  }

  static void keep_better(std::optional<CounterPlace>& best, uint32_t insn, const std::optional<RecordCode>& code) {
    if (code && (!best || cost_of(*code) <= cost_of(*best->record))) best = CounterPlace{insn, 0, {}, {}, *code};
  }

  // A block that is cut into parts.
  struct Cutting {
    const BasicBlock& block;
    const BlockAddresses& addresses;
    uint32_t first;  // the place of its first instruction
    Live live;
  };
  // A part of a block, and the instructions of it before which its record may stand.
  struct BlockPart {
    uint32_t first, end;
    RecordNeeds needs;
    std::vector<uint32_t> before;
  };

  std::optional<RecordCode> code_before(const Cutting& of, uint32_t i, const RecordNeeds& needs) const {
    const uint32_t place = i - of.block.first;
    if (!may_stand_before(of.block, i)) return std::nullopt;
    std::optional<std::vector<uint8_t>> values = values_before(of.addresses, of.first + place, needs);
    if (!values) return std::nullopt;
    return code_at(of.block.part, i, of.live.flags[place], of.live.registers[place], std::move(*values));
  }

  // Puts the instruction `at` into the part. False if there is no room for its values beside those that the part has.
  bool add_to(BlockPart& part, const Cutting& of, uint32_t at, std::span<const BlockAccess> accesses) const {
    RecordNeeds needs = part.needs;
    for (const BlockAccess& access : accesses) needs.add(access);
    if (needs.values.size() > kMostValues) return false;
    std::vector<uint32_t> before = part.before;
    if (needs != part.needs) std::erase_if(before, [&](uint32_t i) { return !code_before(of, i, needs); });
    if (code_before(of, at, needs)) before.push_back(at);
    if (before.empty() && std::ranges::any_of(accesses, &BlockAccess::needs_values)) return false;
    part.needs = std::move(needs);
    part.before = std::move(before);
    part.end = at + 1;
    return true;
  }

  // `accesses`: of the block; those for which there is no place become unknown. `needs`: of what runs before it.
  std::vector<BlockPart> cut(const Cutting& of, std::span<BlockAccess> accesses, RecordNeeds needs) const {
    std::vector<BlockPart> parts{{of.block.first, of.block.first, std::move(needs), {}}};
    size_t a = 0;
    for (uint32_t i = of.block.first; i < of.block.end; ++i) {
      const size_t first = a;
      while (a < accesses.size() && accesses[a].place == of.first + (i - of.block.first)) ++a;
      const std::span<BlockAccess> own = accesses.subspan(first, a - first);
      const bool is_long = i - parts.back().first >= kLongestPart && !parts.back().before.empty();
      if (!is_long && add_to(parts.back(), of, i, own)) continue;
      BlockPart next{i, i, {}, {}};
      if (!parts.back().before.empty() && add_to(next, of, i, own) && !next.before.empty()) {
        parts.push_back(std::move(next));
        continue;
      }
      if (is_long && add_to(parts.back(), of, i, own)) continue;
      for (BlockAccess& access : own)
        if (access.needs_values()) access = access.unknown();
      add_to(parts.back(), of, i, own);
    }
    return parts;
  }

  // Says what the silent blocks touch, by the record at a place behind them. Returns the number of the last one; kNone: there
  // are none.
  uint32_t add_silent(const Path& path, const RecordCode& record, uint32_t at, std::vector<TracedBlock>& blocks) const {
    uint32_t before = TracedBlock::kNone, first = 0;
    for (const uint32_t s : path.silent) {
      const BasicBlock& block = graph_.blocks()[s];
      const uint32_t count = block.end - block.first;
      blocks.push_back({graph_.range(block), count, before});
      add_accesses(blocks.back(), path.addresses.accesses(), path.addresses, record, at, first);
      before = uint32_t(blocks.size()) - 1;
      first += count;
    }
    return before;
  }

  // `first`: the place of the block's first instruction.
  static void add_accesses(TracedBlock& block, std::span<const BlockAccess> accesses, const BlockAddresses& addresses,
                           const RecordCode& record, uint32_t at, uint32_t first) {
    for (const BlockAccess& access : accesses)
      if (access.place >= first && access.place < first + block.instructions)
        block.accesses.push_back(traced_access(access, addresses, record, at, first));
    block.values = uint32_t(record.values.size());
  }

  // The records of a block, with memory. False if there is no place for one.
  bool place_parts(uint32_t b, std::vector<CounterPlace>& places, std::vector<TracedBlock>& blocks) const {
    if (is_silent_[b]) return true;
    const BasicBlock& block = graph_.blocks()[b];
    const Code& code = group_.code.parts[block.part];
    Path path = path_through(before_[b]);
    const RecordNeeds needs = needs_of(path);
    const size_t accesses_before = path.addresses.accesses().size();
    const uint32_t first = path.addresses.size();
    append(path.addresses, b);
    std::vector<BlockAccess> accesses(path.addresses.accesses().begin() + ptrdiff_t(accesses_before),
                                      path.addresses.accesses().end());
    const Cutting of{block, path.addresses, first, live_in(b)};
    for (const BlockPart& part : cut(of, accesses, needs)) {
      std::optional<CounterPlace> best;
      for (uint32_t i = part.end; i-- > part.first;) keep_better(best, i, code_before(of, i, part.needs));
      if (!best) return false;
      const uint32_t at = first + (best->insn - block.first);
      const bool is_first = part.first == block.first;
      const uint32_t before = is_first ? add_silent(path, *best->record, at, blocks) : TracedBlock::kNone;
      best->number = uint32_t(blocks.size());
      places.push_back(*best);
      const OldRange range{code.address(code.insns[part.first]), code.next(code.insns[part.end - 1])};
      blocks.push_back({range, part.end - part.first, before});
      add_accesses(blocks.back(), accesses, path.addresses, *best->record, at, first + (part.first - block.first));
    }
    return true;
  }

  // With memory. Longer parts and paths would take too long to go through, and more values too many registers.
  static constexpr uint32_t kLongestPart = 64;          // instructions
  static constexpr uint32_t kMostSilentWithMemory = 8;  // blocks that follow each other
  static constexpr size_t kMostValues = 32;             // in a record
  static constexpr size_t kMostValuesBehind = 4;        // of silent blocks

  const bool has_memory_;
  const Group& group_;
  const Arrivals& arrivals_;
  const FlowGraph graph_;
  const LiveFlags flags_;
  const LiveRegisters registers_;
  std::vector<std::vector<RowLimit>> limits_;  // by part
  std::vector<uint32_t> before_;   // by block, its only predecessor; kNone if it has others, or control enters there
  std::vector<bool> is_silent_;    // by block: it writes no record
  std::vector<uint32_t> numbers_;  // by block, without memory: its own
};

}  // namespace

BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries, bool has_memory) {
  if (uses_gs(program)) throw refusal(Refusal::uses_gs);
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
      found[g].is_traced = FunctionRecords(program, group, arrivals, passing, has_memory)
                               .place(found[g].of_part, found[g].edges, found[g].blocks);
  });

  uint64_t count = 0;
  for (const Found& f : found)
    if (f.is_traced) count += f.blocks.size();
  if (has_memory && count >= prof_format::kRecordNumber) throw refusal(Refusal::too_many_blocks);
  const bool is_short = !has_memory && count < std::numeric_limits<uint16_t>::max();
  const uint8_t record_size = is_short ? sizeof(uint16_t) : sizeof(uint32_t);

  BlockCounters all;
  all.record_size = record_size;
  all.has_memory = has_memory;
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
        edge.record->size = record_size;
      }
      all.of_range[group.ranges[p]] = std::move(found[g].of_part[p]);
      all.edges[group.ranges[p]] = std::move(found[g].edges[p]);
    }
    for (TracedBlock& block : found[g].blocks) {
      if (block.before != TracedBlock::kNone) block.before += first;
      all.traced.push_back(std::move(block));
    }
  }
  return all;
}

}  // namespace profld
