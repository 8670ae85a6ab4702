// Which blocks write a record, and where it stands in them: few_records.cc, silent_blocks.cc, record_sites.cc. That is without
// memory. With it, a block is silent only if that does not depend on the way that control took: see below.
//
// Memory. With --trace=memory, a record has values, too: registers, by which the addresses of all accesses in the block can
// be told (block_addresses.h). One value gives several of them; what all registers hold at the place of the record is known.
// Where no place will do for all of a block's accesses, as when a pointer is loaded into the register of the pointer before,
// the block is cut into parts, each with a record of its own: into as few as possible, since a part grows as long as there is
// a place in it where all values that it needs are in registers.
//
// A block writes none if what follows tells that it ran: if control does not leave the function behind it, and each of its
// successors can be reached from it alone. The record of the one that comes next then stands for both. If that holds for one way
// on from a conditional jump, there is a record on the other way instead: code between the jump and what stands behind it, or
// far away, where the jump leads first. Not so where that way leads back, as from the end of a loop: the block itself writes as
// seldom. But the values that it needs have to be there still at its end: then the records of all blocks behind it have them,
// too, and each tells in its own way what the silent block touched. If there is no place for a value at all, the table says that the address is not known; so it does of
// the few instructions whose addresses are not in general registers.
//
// A function with a block that has no place for the record that it needs is not traced, and the report says so.

#include "trace_records.h"

#include <algorithm>

#include "few_records.h"
#include "libprof/format/trace.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/decide/gs_use.h"
#include "recorded_values.h"

namespace profld {

namespace {

// Of a function, with memory.
class MemoryRecords {
 public:
  explicit MemoryRecords(const RecordSites& sites) : sites_(sites), group_(sites.group()), graph_(sites.graph()) {}

  // Nullopt if some block has no place for its record.
  std::optional<FunctionRecords> place() {
    FunctionRecords records;
    records.of_part.resize(group_.code.parts.size());
    records.edges.resize(records.of_part.size());
    find_predecessors();
    find_silent();
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b)
      if (!place_parts(b, records.of_part[graph_.blocks()[b].part], records.blocks)) return std::nullopt;
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const std::optional<size_t> way = is_silent_[b] ? way_to_shared(b) : std::nullopt;
      if (!way) continue;
      const BasicBlock& block = graph_.blocks()[b];
      const Path path = path_through(b);
      const uint32_t behind = path.addresses.size();
      const std::optional<RecordCode> code = sites_.code_between(
          b, graph_.successors(b)[*way], values_before(path.addresses, behind, needs_of(path)).value());
      if (!code) return std::nullopt;
      const uint32_t before = add_silent(path, *code, behind, records.blocks);
      records.edges[block.part].push_back({block.end - 1, *way == kTaken, uint32_t(records.blocks.size()), {}, *code});
      records.blocks.push_back({{}, 0, before, uint32_t(code->values.size())});
    }
    return records;
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
             return (before_[s] == b ? sites_.code_at_start(s, *values) : sites_.code_between(b, s, *values))
                 .has_value();
           });
  }

  // Not too many that follow each other: the record of the last one stands for all of them.
  void find_silent() {
    std::vector<uint32_t> chain(graph_.blocks().size());  // silent blocks before each
    for (uint32_t b = 0; b < chain.size(); ++b) {
      if (before_[b] != TracedBlock::kNone && is_silent_[before_[b]]) chain[b] = chain[before_[b]] + 1;
      is_silent_[b] = chain[b] + 1 < kMostSilent && is_told_by_others(b) && leaves_values(b);
    }
  }

  // A block that is cut into parts.
  struct Cutting {
    const BasicBlock& block;
    const BlockAddresses& addresses;
    uint32_t first;  // the place of its first instruction
    RecordSites::Live live;
  };
  // A part of a block, and the instructions of it before which its record may stand.
  struct BlockPart {
    uint32_t first, end;
    RecordNeeds needs;
    std::vector<uint32_t> before;
  };

  std::optional<RecordCode> code_before(const Cutting& of, uint32_t i, const RecordNeeds& needs) const {
    const uint32_t place = i - of.block.first;
    if (!sites_.may_stand_before(of.block, i)) return std::nullopt;
    std::optional<std::vector<uint8_t>> values = values_before(of.addresses, of.first + place, needs);
    if (!values) return std::nullopt;
    return sites_.code_at(of.block.part, i, of.live.flags[place], of.live.registers[place], std::move(*values));
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

  // The records of a block. False if there is no place for one.
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
    const Cutting of{block, path.addresses, first, sites_.live_in(b)};
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

  // Longer parts and paths would take too long to go through, and more values too many registers.
  static constexpr uint32_t kLongestPart = 64;    // instructions
  static constexpr uint32_t kMostSilent = 8;      // blocks that follow each other
  static constexpr size_t kMostValues = 32;       // in a record
  static constexpr size_t kMostValuesBehind = 4;  // of silent blocks

  const RecordSites& sites_;
  const Group& group_;
  const FlowGraph& graph_;
  std::vector<uint32_t> before_;  // by block, its only predecessor; kNone if it has others, or control enters there
  std::vector<bool> is_silent_;   // by block: it writes no record
};

// Numbers of the blocks that write records, from 0 on, and behind them those of the others: so small ones do for what is written.
class Numbering {
 public:
  explicit Numbering(const std::vector<std::optional<FunctionRecords>>& found) {
    for (const auto& f : found) {
      std::vector<uint32_t>& own = numbers_.emplace_back(f ? f->blocks.size() : 0, TracedBlock::kNone);
      const auto take = [&](uint32_t block) { own[block] = records_++; };
      for (size_t p = 0; f && p < f->of_part.size(); ++p) {
        for (const CounterPlace& place : f->of_part[p]) take(place.number);
        for (const EdgeRecord& edge : f->edges[p]) take(edge.number);
      }
    }
    all_ = records_;
    for (std::vector<uint32_t>& own : numbers_)
      for (uint32_t& number : own)
        if (number == TracedBlock::kNone) number = all_++;
  }

  uint32_t records() const { return records_; }
  uint32_t all() const { return all_; }
  uint32_t of(size_t function, uint32_t block) const { return numbers_[function][block]; }

 private:
  std::vector<std::vector<uint32_t>> numbers_;
  uint32_t records_ = 0, all_ = 0;
};

}  // namespace

BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries, bool has_memory) {
  if (uses_gs(program)) throw refusal(Refusal::uses_gs);
  const Arrivals arrivals = find_arrivals(program, old_entries);
  const FlagPassing passing = find_flag_passing(program, arrivals, kAllFlags);
  std::vector<std::optional<FunctionRecords>> found(program.groups.size());
  parallel_for(found.size(), [&](size_t g) {
    const Group& group = program.groups[g];
    if (!group.moves()) return;
    const RecordSites sites(program, group, arrivals, passing);
    found[g] = has_memory ? MemoryRecords(sites).place() : place_few_records(sites);
  });

  const Numbering numbers(found);
  if (has_memory && numbers.all() >= prof_format::kRecordNumber) throw refusal(Refusal::too_many_blocks);
  const bool is_short = !has_memory && numbers.records() < std::numeric_limits<uint16_t>::max();

  BlockCounters all;
  all.record_size = is_short ? sizeof(uint16_t) : sizeof(uint32_t);
  all.has_memory = has_memory;
  all.of_range.resize(program.ranges.size());
  all.edges.resize(program.ranges.size());
  all.traced.resize(numbers.all());
  all.records = numbers.records();
  for (size_t g = 0; g < found.size(); ++g) {
    const Group& group = program.groups[g];
    if (!group.moves()) continue;
    if (!found[g]) {
      ++all.uncounted;
      continue;
    }
    const auto finish = [&](auto& record) {
      record.number = numbers.of(g, record.number);
      record.record->size = all.record_size;
    };
    for (size_t p = 0; p < found[g]->of_part.size(); ++p) {
      std::ranges::for_each(found[g]->of_part[p], finish);
      std::ranges::for_each(found[g]->edges[p], finish);
      all.of_range[group.ranges[p]] = std::move(found[g]->of_part[p]);
      all.edges[group.ranges[p]] = std::move(found[g]->edges[p]);
    }
    for (uint32_t b = 0; b < found[g]->blocks.size(); ++b) {
      TracedBlock& block = found[g]->blocks[b];
      if (block.before != TracedBlock::kNone) block.before = numbers.of(g, block.before);
      for (uint32_t& to : block.next) to = numbers.of(g, to);
      all.traced[numbers.of(g, b)] = std::move(block);
    }
  }
  return all;
}

}  // namespace profld
