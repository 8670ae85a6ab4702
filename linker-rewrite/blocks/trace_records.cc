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
// a place in it where all values that it needs are in registers. A block whose accesses need no value, as those at addresses
// of the program, may be silent as before. If there is no place for a value at all, the table says that the address is not
// known; so it does of the few instructions whose addresses are not in general registers.
//
// It does not stand where nothing may (may_insert_before in arrivals.h). A function with a block that has no other place is
// not traced, and the report says so.

#include "trace_records.h"

#include <algorithm>

#include "block_addresses.h"
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

// What a part of a block needs in its record.
struct PartNeeds {
  std::vector<NeededValue> values;
  bool fs = false, flags = false;

  void add(const BlockAccess& access) {
    for (const std::optional<NeededValue>& value : {access.base, access.index, access.count})
      if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
    fs |= access.needs_fs;
    flags |= access.needs_flags;
  }
  bool is_too_much() const { return values.size() + 2 > prof_format::kMostRecordValues; }
};

// The values of a record before an instruction; nullopt if not all are in registers.
std::optional<std::vector<uint8_t>> values_before(const BlockAddresses& addresses, uint32_t insn,
                                                  const PartNeeds& needs) {
  if (needs.flags && !addresses.has_first_direction(insn)) return std::nullopt;
  std::vector<uint8_t> values;
  for (const NeededValue& needed : needs.values) {
    const uint8_t reg = addresses.holder(insn, needed);
    if (reg == kNoRegister) return std::nullopt;
    if (std::ranges::find(values, reg) == values.end()) values.push_back(reg);
  }
  if (needs.fs) values.push_back(kFsBase);
  if (needs.flags) values.push_back(kProcessorFlags);
  return values;
}

// `at`: the instruction before which the record stands; `first`: that of the part.
TracedAccess traced_access(const BlockAccess& access, const BlockAddresses& addresses, const RecordCode& record,
                           uint32_t at, uint32_t first) {
  TracedAccess to;
  to.instruction = access.insn - first;
  to.size = access.size;
  to.flags = access.flags;
  to.form = access.form;
  uint64_t addend = uint64_t(access.addend);
  const auto place_of = [&](uint8_t value) {
    return uint16_t(std::ranges::find(record.values, value) - record.values.begin());
  };
  // Where the value is, and what it is away from that which is needed.
  const auto take = [&](uint16_t& place, const std::optional<NeededValue>& needed, unsigned scale) {
    if (!needed) return;
    const uint8_t reg = addresses.holder(at, *needed);
    place = place_of(reg);
    uint64_t distance = uint64_t(needed->value.offset) - uint64_t(addresses.before(at)[reg].offset);
    if (reg == kRsp) distance += depth_of_values(record);
    addend += distance << scale;
  };
  take(to.base, access.base, 0);
  take(to.index, access.index, access.form & prof_format::kAddressScale);
  take(to.count, access.count, 0);
  if (access.needs_fs) to.segment = place_of(kFsBase);
  if (access.needs_flags) to.index = place_of(kProcessorFlags);
  to.addend = int64_t(addend);
  return to;
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
      const BasicBlock& block = graph_.blocks()[b];
      const uint32_t before =
          before_[b] != TracedBlock::kNone && is_silent_[before_[b]] ? numbers_[before_[b]] : TracedBlock::kNone;
      numbers_[b] = uint32_t(blocks.size());
      if (is_silent_[b]) {
        blocks.push_back({graph_.range(block), block.end - block.first, before});
        if (has_memory_) add_silent_accesses(blocks.back(), b);
      } else if (!place_parts(b, before, of_part[block.part], blocks)) {
        return false;
      }
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
      blocks.push_back({{}, 0, numbers_[b]});
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

  BlockAddresses addresses_of(uint32_t b) const {
    const BasicBlock& block = graph_.blocks()[b];
    return {group_.code.parts[block.part], block.first, block.end};
  }
  bool needs_values(uint32_t b) const {
    if (!has_memory_) return false;
    const BlockAddresses addresses = addresses_of(b);
    return std::ranges::any_of(addresses.accesses(), &BlockAccess::needs_values);
  }

  // Not too many that follow each other: the record of the last one stands for all of them.
  void find_silent() {
    std::vector<uint32_t> chain(graph_.blocks().size());  // silent blocks before each
    for (uint32_t b = 0; b < chain.size(); ++b) {
      if (before_[b] != TracedBlock::kNone && is_silent_[before_[b]]) chain[b] = chain[before_[b]] + 1;
      is_silent_[b] = chain[b] + 1 < prof_format::kMostBlocksBefore && is_told_by_others(b) && !needs_values(b);
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

  // A record before the instruction. `addresses`: null if there are no needs.
  std::optional<RecordCode> code_before(const BasicBlock& block, uint32_t i, const Live& live,
                                        const BlockAddresses* addresses, const PartNeeds& needs) const {
    if (!may_stand_before(block, i)) return std::nullopt;
    std::optional<std::vector<uint8_t>> values{std::in_place};
    if (addresses) values = values_before(*addresses, i, needs);
    if (!values) return std::nullopt;
    return code_at(block.part, i, live.flags[i - block.first], live.registers[i - block.first], std::move(*values));
  }

  // Before one of the instructions [first, end).
  std::optional<CounterPlace> best_place(const BasicBlock& block, uint32_t first, uint32_t end, const Live& live,
                                         const BlockAddresses* addresses, const PartNeeds& needs) const {
    std::optional<CounterPlace> best;
    for (uint32_t i = end; i-- > first;) {
      const std::optional<RecordCode> code = code_before(block, i, live, addresses, needs);
      if (code && (!best || cost_of(*code) <= cost_of(*best->record))) best = CounterPlace{i, 0, {}, false, *code};
    }
    return best;
  }

  // A part of a block, and the places in it where its record may stand.
  struct BlockPart {
    uint32_t first, end;
    PartNeeds needs;
    std::vector<uint32_t> places;
  };

  // No longer: else it takes too long to look for places.
  static constexpr uint32_t kLongestPart = 256;  // instructions

  // False if there is no room for the values of the instruction [at, at + 1), beside those that the part has.
  bool add_to(BlockPart& part, const BasicBlock& block, uint32_t at, std::span<BlockAccess> accesses, const Live& live,
              const BlockAddresses& addresses) const {
    PartNeeds needs = part.needs;
    for (const BlockAccess& access : accesses) needs.add(access);
    if (needs.is_too_much()) return false;
    std::vector<uint32_t> places = part.places;
    places.push_back(at);
    if (needs.values != part.needs.values || needs.fs != part.needs.fs || needs.flags != part.needs.flags)
      std::erase_if(places, [&](uint32_t i) { return !code_before(block, i, live, &addresses, needs); });
    else if (!code_before(block, at, live, &addresses, needs))
      places.pop_back();
    if (places.empty() && std::ranges::any_of(accesses, &BlockAccess::needs_values)) return false;
    part.needs = std::move(needs);
    part.places = std::move(places);
    part.end = at + 1;
    return true;
  }

  // `accesses`: of the block; those for which there is no place become unknown.
  std::vector<BlockPart> cut(const BasicBlock& block, std::span<BlockAccess> accesses, const Live& live,
                             const BlockAddresses& addresses) const {
    std::vector<BlockPart> parts{{block.first, block.first, {}, {}}};
    size_t a = 0;
    for (uint32_t i = block.first; i < block.end; ++i) {
      const size_t first = a;
      while (a < accesses.size() && accesses[a].insn == i) ++a;
      const std::span<BlockAccess> own = accesses.subspan(first, a - first);
      const bool is_long = i - parts.back().first >= kLongestPart && !parts.back().places.empty();
      if (!is_long && add_to(parts.back(), block, i, own, live, addresses)) continue;
      BlockPart next{i, i, {}, {}};
      if (!parts.back().places.empty() && add_to(next, block, i, own, live, addresses) && !next.places.empty()) {
        parts.push_back(std::move(next));
        continue;
      }
      if (is_long && add_to(parts.back(), block, i, own, live, addresses)) continue;
      for (BlockAccess& access : own)
        if (access.needs_values())
          access = {i,
                    access.size,
                    uint8_t(access.flags & prof_format::kAccessWrite),
                    prof_format::kAddressUnknown,
                    {},
                    {},
                    {},
                    false,
                    false,
                    0};
      add_to(parts.back(), block, i, own, live, addresses);
    }
    // The last one may have no place in it, if nothing may stand there: then it belongs to the one before.
    if (parts.size() > 1 && parts.back().places.empty()) {
      parts[parts.size() - 2].end = parts.back().end;
      parts.pop_back();
    }
    return parts;
  }

  void add_accesses(TracedBlock& block, std::span<const BlockAccess> accesses, const BlockAddresses& addresses,
                    const RecordCode& record, uint32_t at, uint32_t first, uint32_t end) const {
    for (const BlockAccess& access : accesses)
      if (access.insn >= first && access.insn < end)
        block.accesses.push_back(traced_access(access, addresses, record, at, first));
    block.values = uint32_t(record.values.size());
  }

  void add_silent_accesses(TracedBlock& traced, uint32_t b) const {
    const BasicBlock& block = graph_.blocks()[b];
    const BlockAddresses addresses = addresses_of(b);
    add_accesses(traced, addresses.accesses(), addresses, {}, block.first, block.first, block.end);
  }

  // The records of a block. False if there is no place for one. `before`: as in TracedBlock.
  bool place_parts(uint32_t b, uint32_t before, std::vector<CounterPlace>& places,
                   std::vector<TracedBlock>& blocks) const {
    const BasicBlock& block = graph_.blocks()[b];
    const Live live = live_in(b);
    if (!has_memory_) {
      const std::optional<CounterPlace> best = best_place(block, block.first, block.end, live, nullptr, {});
      if (!best) return false;
      places.push_back(*best);
      places.back().number = uint32_t(blocks.size());
      blocks.push_back({graph_.range(block), block.end - block.first, before});
      return true;
    }
    const BlockAddresses addresses = addresses_of(b);
    std::vector<BlockAccess> accesses = addresses.accesses();
    const Code& code = group_.code.parts[block.part];
    for (const BlockPart& part : cut(block, accesses, live, addresses)) {
      const std::optional<CounterPlace> best = best_place(block, part.first, part.end, live, &addresses, part.needs);
      if (!best) return false;
      places.push_back(*best);
      places.back().number = uint32_t(blocks.size());
      const OldRange range{code.address(code.insns[part.first]), code.next(code.insns[part.end - 1])};
      blocks.push_back({range, part.end - part.first, before});
      before = TracedBlock::kNone;
      add_accesses(blocks.back(), accesses, addresses, *best->record, best->insn, part.first, part.end);
    }
    return true;
  }

  const bool has_memory_;
  const Group& group_;
  const Arrivals& arrivals_;
  const FlowGraph graph_;
  const LiveFlags flags_;
  const LiveRegisters registers_;
  std::vector<std::vector<RowLimit>> limits_;  // by part
  std::vector<uint32_t> before_;   // by block, its only predecessor; kNone if it has others, or control enters there
  std::vector<bool> is_silent_;    // by block: it writes no record
  std::vector<uint32_t> numbers_;  // by block: that of its record, or of its first one
};

}  // namespace

BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries, bool has_memory) {
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
        edge.record.size = record_size;
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
