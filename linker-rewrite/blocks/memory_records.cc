// With --trace=memory, a record has values, too: registers, by which the addresses of all accesses in the block can be
// told (block_addresses.h). A block may be cut into parts for them (Cutting). If there is no place for a value at all,
// the table says that the address is not known; so it does of the few instructions whose addresses are not in general
// registers.
//
// A block may be silent (silent_blocks.cc) if the values that it needs are still in registers wherever the next record
// stands (CarriedValues). All of these records have them then, whether it ran before or not: the record before tells
// that. So it has to be worth it: what these values cost, by how often those records are written, has to be less than
// its own record. In the table, a silent block stands once for each record after it, as each has the values at other
// places.

#include <algorithm>
#include <bit>
#include <map>

#include "block_addresses.h"
#include "block_counters.h"
#include "libprof/format/trace.h"
#include "record_sites.h"

namespace profld {

namespace {

// The values in a record of profld --trace=memory: what accesses to memory need, in which registers that is, and how
// the addresses are made of them.

// What accesses need in one record.
struct RecordNeeds {
  std::vector<NeededValue> values;
  bool fs = false, flags = false;

  void add(const BlockAccess& access);
  bool operator==(const RecordNeeds&) const = default;
};

void RecordNeeds::add(const BlockAccess& access) {
  for (const std::optional<NeededValue>& value : {access.base, access.index, access.count})
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  fs |= access.needs_fs;
  flags |= access.needs_flags;
}

// The values of a record before the instruction at a place; nullopt if not all are in registers.
std::optional<std::vector<uint8_t>> values_before(const BlockAddresses& addresses, uint32_t place,
                                                  const RecordNeeds& needs) {
  if (needs.flags && !addresses.has_first_direction(place)) return std::nullopt;
  std::vector<uint8_t> values;
  for (const NeededValue& needed : needs.values) {
    const uint8_t reg = addresses.holder(place, needed);
    if (reg == kNoRegister) return std::nullopt;
    if (std::ranges::find(values, reg) == values.end()) values.push_back(reg);
  }
  if (needs.fs) values.push_back(kFsBase);
  if (needs.flags) values.push_back(kProcessorFlags);
  return values;
}

// By a record at the place `at`. `first`: the place of the first instruction of the block.
TracedAccess traced_access(const BlockAccess& access, const BlockAddresses& addresses, const RecordCode& record,
                           uint32_t at, uint32_t first) {
  TracedAccess to;
  to.instruction = access.place - first;
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

// What the accesses of blocks need, as it looks further on: in which registers that is when others have run (profld
// --trace=memory).
//
// BlockAddresses tells for each block by itself what it leaves in registers: what another one held where it began, and
// a number more, or something new. So a value is followed from block to block as the set of the registers that hold it,
// each with the number that has to be taken off.

// Of the blocks of one function.
class CarriedValues {
 public:
  explicit CarriedValues(const RecordSites& sites);

  const BlockAddresses& addresses(uint32_t block) const { return addresses_[block]; }

  // The accesses of a block by what registers hold when the blocks of `way` have run after it. Nullopt if some value
  // that they need is in none any more. `wanted`: registers that are taken before others.
  std::optional<std::vector<BlockAccess>> accesses_after(uint32_t block, std::span<const uint32_t> way,
                                                         RegisterSet wanted) const;

 private:
  std::optional<NeededValue> after(const NeededValue& value, uint32_t block, std::span<const uint32_t> way,
                                   RegisterSet wanted) const;

  std::vector<BlockAddresses> addresses_;  // by block
};

// What a register holds where some code begins.
HeldValue value_at_start(uint8_t reg) { return {HeldValue::kFirst + reg, 0}; }

CarriedValues::CarriedValues(const RecordSites& sites) {
  for (const BasicBlock& block : sites.graph().blocks())
    addresses_.emplace_back().append(sites.group().code.parts[block.part], block.first, block.end);
}

std::optional<NeededValue> CarriedValues::after(const NeededValue& value, uint32_t block, std::span<const uint32_t> way,
                                                RegisterSet wanted) const {
  struct Held {
    RegisterSet registers = 0;
    std::array<uint64_t, kRegisters> more{};  // than the origin of the value
  };
  Held held;
  const auto take = [&](Held& to, uint8_t reg, uint64_t more) {
    to.registers = RegisterSet(to.registers | 1u << reg);
    to.more[reg] = more;
  };
  const BlockAddresses& own = addresses_[block];
  for (uint8_t reg = 0; reg < kRegisters; ++reg) {
    const HeldValue& now = own.before(own.size())[reg];
    if (now.origin == value.value.origin) take(held, reg, uint64_t(now.offset));
  }
  for (const uint32_t b : way) {
    Held next;
    for (uint8_t reg = 0; reg < kRegisters; ++reg) {
      const HeldValue& now = addresses_[b].before(addresses_[b].size())[reg];
      const uint32_t from = now.origin - HeldValue::kFirst;
      if (now.origin >= HeldValue::kFirst && from < kRegisters && (held.registers >> from & 1))
        take(next, reg, held.more[from] + uint64_t(now.offset));
    }
    held = next;
  }
  if (value.is_exact)
    for (uint8_t reg = 0; reg < kRegisters; ++reg)
      if (held.more[reg] != uint64_t(value.value.offset)) held.registers = RegisterSet(held.registers & ~(1u << reg));
  if (held.registers == 0) return std::nullopt;
  const RegisterSet best = held.registers & wanted ? RegisterSet(held.registers & wanted) : held.registers;
  const auto reg = uint8_t(std::countr_zero(best));
  HeldValue there = value_at_start(reg);
  there.offset = int64_t(uint64_t(value.value.offset) - held.more[reg]);
  return NeededValue{there, value.is_exact};
}

std::optional<std::vector<BlockAccess>> CarriedValues::accesses_after(uint32_t block, std::span<const uint32_t> way,
                                                                      RegisterSet wanted) const {
  std::vector<BlockAccess> accesses = addresses_[block].accesses();
  for (BlockAccess& access : accesses) {
    if (access.needs_fs || access.needs_flags) return std::nullopt;
    for (std::optional<NeededValue>* value : {&access.base, &access.index, &access.count}) {
      if (!*value) continue;
      *value = after(**value, block, way, wanted);
      if (!*value) return std::nullopt;
    }
  }
  return accesses;
}

// Blocks that are cut into parts, each with a record that has the values which its accesses need.
//
// One value gives the addresses of several accesses; what all registers hold at the place of the record is known. Where
// no place will do for all of a block's accesses, as when a pointer is loaded into the register of the pointer before,
// the block is cut into parts, each with a record of its own: into as few as possible, since a part grows as long as
// there is a place in it where all values that it needs are in registers.

// Instructions of a part, and where its record stands.
struct BlockPart {
  uint32_t first, end;
  CounterPlace place;
};

// Longer parts would take too long to go through, and more values too many registers.
constexpr uint32_t kLongestPart = 64;  // instructions
constexpr size_t kMaxValues = 32;      // in a record

class Cutting {
 public:
  Cutting(const RecordSites& sites, uint32_t block, const BlockAddresses& addresses)
      : sites_(sites), block_(sites.graph().blocks()[block]), addresses_(addresses), live_(sites.live_in(block)) {}

  std::optional<std::vector<BlockPart>> cut(std::span<BlockAccess> accesses, RecordNeeds needs) const {
    std::vector<Part> parts{{block_.first, block_.first, std::move(needs), {}}};
    size_t a = 0;
    for (uint32_t i = block_.first; i < block_.end; ++i) {
      const size_t first = a;
      while (a < accesses.size() && accesses[a].place == i - block_.first) ++a;
      const std::span<BlockAccess> own = accesses.subspan(first, a - first);
      const bool is_long = i - parts.back().first >= kLongestPart && !parts.back().before.empty();
      if (!is_long && add_to(parts.back(), i, own)) continue;
      Part next{i, i, {}, {}};
      if (!parts.back().before.empty() && add_to(next, i, own) && !next.before.empty()) {
        parts.push_back(std::move(next));
        continue;
      }
      if (is_long && add_to(parts.back(), i, own)) continue;
      for (BlockAccess& access : own)
        if (access.needs_values()) access = access.unknown();
      add_to(parts.back(), i, own);
    }
    std::vector<BlockPart> placed;
    for (const Part& part : parts) {
      std::optional<CounterPlace> best;
      for (uint32_t i = part.end; i-- > part.first;) keep_better(best, i, code_before(i, part.needs));
      if (!best) return std::nullopt;
      placed.push_back({part.first, part.end, std::move(*best)});
    }
    return placed;
  }

 private:
  // `before`: the instructions of it before which its record may stand.
  struct Part {
    uint32_t first, end;
    RecordNeeds needs;
    std::vector<uint32_t> before;
  };

  std::optional<RecordCode> code_before(uint32_t i, const RecordNeeds& needs) const {
    const uint32_t place = i - block_.first;
    if (!sites_.may_stand_before(block_, i)) return std::nullopt;
    std::optional<std::vector<uint8_t>> values = values_before(addresses_, place, needs);
    if (!values) return std::nullopt;
    return sites_.code_at(block_.part, i, live_.flags[place], live_.registers[place], std::move(*values));
  }

  // Puts the instruction `at` into the part. False if there is no room for its values beside those that the part has.
  bool add_to(Part& part, uint32_t at, std::span<const BlockAccess> accesses) const {
    RecordNeeds needs = part.needs;
    for (const BlockAccess& access : accesses) needs.add(access);
    if (needs.values.size() > kMaxValues) return false;
    std::vector<uint32_t> before = part.before;
    if (needs != part.needs) std::erase_if(before, [&](uint32_t i) { return !code_before(i, needs); });
    if (code_before(at, needs)) before.push_back(at);
    if (before.empty() && std::ranges::any_of(accesses, &BlockAccess::needs_values)) return false;
    part.needs = std::move(needs);
    part.before = std::move(before);
    part.end = at + 1;
    return true;
  }

  const RecordSites& sites_;
  const BasicBlock& block_;
  const BlockAddresses& addresses_;
  const RecordSites::Live live_;
};

// `accesses`: of the block, by `addresses`, which begin with it; those for which there is no place become unknown.
// `needs`: what the first record has to have beside. Nullopt if there is no place for some record.
std::optional<std::vector<BlockPart>> cut_block(const RecordSites& sites, uint32_t block,
                                                const BlockAddresses& addresses, std::span<BlockAccess> accesses,
                                                RecordNeeds needs) {
  return Cutting(sites, block, addresses).cut(accesses, std::move(needs));
}

// What a record and a value cost, in instructions: to be written, and to be packed.
constexpr double kWriting = 10, kValue = 10;

class MemoryRecords : SilenceJudge {
 public:
  explicit MemoryRecords(const RecordSites& sites)
      : sites_(sites), carried_(sites), all_(record_nodes(sites, kWriting)), needs_(all_.nodes.size()) {
    for (uint32_t n = 0; n < all_.nodes.size(); ++n) {
      own_.push_back(all_.is_block(n) ? registers_needed_by(n) : RegisterSet(0));
      all_.nodes[n].cost += all_.frequency[n] * kValue * std::popcount(own_[n]);
    }
  }

  std::optional<FunctionRecords> place() {
    std::optional<SilentNodes> told = choose_silent(all_.nodes, kLimits, this);
    if (!told) return std::nullopt;
    told_ = std::move(*told);
    records_.of_part.resize(sites_.group().code.parts.size());
    records_.edges.resize(records_.of_part.size());
    ends_.resize(all_.nodes.size());
    for (uint32_t n = 0; n < all_.nodes.size(); ++n)
      if (!told_.silent[n] && !(all_.is_block(n) ? place_block(n) : place_way(n))) return std::nullopt;
    connect();
    return std::move(records_);
  }

 private:
  static constexpr TreeLimits kLimits{16, 8};
  static constexpr int kMaxValuesAfter = 4;    // of silent blocks, in a record
  using Pair = std::pair<uint32_t, uint32_t>;  // a record, and a silent block that it tells of

  static RegisterSet registers_of(const RecordNeeds& needs) {
    RegisterSet set = 0;
    for (const NeededValue& v : needs.values)
      if (const uint32_t reg = v.value.origin - HeldValue::kFirst;
          v.value.origin >= HeldValue::kFirst && reg < kRegisters)
        set = RegisterSet(set | 1u << reg);
    return set;
  }
  // Those that its record has anyway, as far as they are the same where it begins.
  RegisterSet registers_needed_by(uint32_t block) const {
    RecordNeeds needs;
    for (const BlockAccess& access : carried_.addresses(block).accesses()) needs.add(access);
    return registers_of(needs);
  }

  // What is silent with a block's number; silent ways are nothing.
  std::vector<uint32_t> blocks_of(const std::vector<uint32_t>& way) const {
    std::vector<uint32_t> blocks;
    for (const uint32_t n : way)
      if (all_.is_block(n)) blocks.push_back(n);
    return blocks;
  }

  bool can_have(uint32_t node, const RecordNeeds& needs) const {
    std::optional<std::vector<uint8_t>> values = values_before(BlockAddresses(), 0, needs);
    if (!values) return false;
    if (all_.is_block(node)) return sites_.code_at_start(node, std::move(*values)).has_value();
    return sites_.code_between(all_.way(node).from, all_.way(node).to, std::move(*values)).has_value();
  }

  bool accepts(uint32_t node, std::span<const Told> told) override {
    std::map<Pair, std::vector<BlockAccess>> accesses;
    std::map<uint32_t, RecordNeeds> needs;  // of records, which have more than before
    for (const Told& t : told) {
      if (!all_.is_block(t.silent)) continue;
      RecordNeeds& of_record = needs.try_emplace(t.record, needs_[t.record]).first->second;
      const auto wanted = RegisterSet(registers_of(of_record) | own_[t.record]);
      std::optional<std::vector<BlockAccess>> found = carried_.accesses_after(t.silent, blocks_of(t.way), wanted);
      if (!found) return false;
      for (const BlockAccess& access : *found) of_record.add(access);
      accesses.emplace(Pair(t.record, t.silent), std::move(*found));
    }
    const auto beside = [&](uint32_t record, const RecordNeeds& of_record) {
      return std::popcount(RegisterSet(registers_of(of_record) & ~own_[record]));
    };
    double gain = all_.nodes[node].cost + all_.frequency[node] * kValue * beside(node, needs_[node]);
    for (const auto& [record, of_record] : needs) {
      const int values = beside(record, of_record), before = beside(record, needs_[record]);
      if (values > before && values > kMaxValuesAfter) return false;
      if (of_record != needs_[record] && !can_have(record, of_record)) return false;
      gain -= all_.frequency[record] * kValue * (values - before);
    }
    if (gain < 0) return false;
    for (auto& [record, of_record] : needs) needs_[record] = std::move(of_record);
    needs_[node] = {};
    accesses_.merge(accesses);
    for (auto at = accesses_.lower_bound({node, 0}); at != accesses_.end() && at->first.first == node;)
      at = accesses_.erase(at);
    return true;
  }

  TracedBlock traced_block(uint32_t b, uint32_t first, uint32_t end) const {
    const BasicBlock& block = sites_.graph().blocks()[b];
    const Code& code = sites_.group().code.parts[block.part];
    return {{code.address(code.insns[first]), code.next(code.insns[end - 1])}, end - first, TracedBlock::kNone};
  }

  // Says what silent blocks touched, by the record of a node, at the place `at` after its start.
  void add_silent(uint32_t node, const BlockAddresses& addresses, const RecordCode& record, uint32_t at) {
    for (auto told = accesses_.lower_bound({node, 0}); told != accesses_.end() && told->first.first == node; ++told) {
      const BasicBlock& block = sites_.graph().blocks()[told->first.second];
      copies_[told->first] = uint32_t(records_.blocks.size());
      TracedBlock& traced = records_.blocks.emplace_back(traced_block(told->first.second, block.first, block.end));
      for (const BlockAccess& access : told->second)
        traced.accesses.push_back(traced_access(access, addresses, record, at, 0));
      traced.values = uint32_t(record.values.size());
    }
  }

  bool place_block(uint32_t b) {
    const BlockAddresses& addresses = carried_.addresses(b);
    std::vector<BlockAccess> accesses = addresses.accesses();
    const auto parts = cut_block(sites_, b, addresses, accesses, needs_[b]);
    if (!parts) return false;
    const BasicBlock& block = sites_.graph().blocks()[b];
    for (const BlockPart& part : *parts) {
      const auto number = uint32_t(records_.blocks.size());
      const uint32_t first = part.first - block.first, at = part.place.insn - block.first;
      TracedBlock& traced = records_.blocks.emplace_back(traced_block(b, part.first, part.end));
      for (const BlockAccess& access : accesses)
        if (access.place >= first && access.place < first + traced.instructions)
          traced.accesses.push_back(traced_access(access, addresses, *part.place.record, at, first));
      traced.values = uint32_t(part.place.record->values.size());
      if (first == 0)
        ends_[b].first = number;
      else
        records_.blocks[ends_[b].last].next = {number};
      ends_[b].last = number;
      records_.of_part[block.part].push_back(part.place);
      records_.of_part[block.part].back().number = number;
      if (first == 0) add_silent(b, addresses, *part.place.record, at);
    }
    return true;
  }

  bool place_way(uint32_t n) {
    RecordNodes::Way& way = all_.way(n);
    std::optional<std::vector<uint8_t>> values = values_before(BlockAddresses(), 0, needs_[n]);
    if (values) way.record.record = sites_.code_between(way.from, way.to, std::move(*values));
    if (!values || !way.record.record) return false;
    way.record.number = ends_[n].first = ends_[n].last = uint32_t(records_.blocks.size());
    records_.blocks.push_back({{}, 0, TracedBlock::kNone, uint32_t(way.record.record->values.size())});
    add_silent(n, BlockAddresses(), *way.record.record, 0);
    records_.edges[sites_.graph().blocks()[way.from].part].push_back(way.record);
    return true;
  }

  // The first one that is on the way from a node to a record.
  uint32_t next_on_way(uint32_t from, uint32_t record) const {
    const std::vector<uint32_t> way = blocks_of(silent_way(all_.nodes, told_, from, record));
    return way.empty() ? ends_[record].first : copies_.at({record, way[0]});
  }
  uint32_t before_of(uint32_t node, uint32_t record) const {
    const uint32_t before = told_.before[node];
    return before == SilentNodes::kNone ? TracedBlock::kNone : copies_.at({record, before});
  }

  void connect() {
    for (const auto& [pair, number] : copies_) {
      records_.blocks[number].next = {next_on_way(pair.second, pair.first)};
      records_.blocks[number].before = before_of(pair.second, pair.first);
    }
    for (uint32_t n = 0; n < all_.nodes.size(); ++n) {
      if (told_.silent[n]) continue;
      TracedBlock& first = records_.blocks[ends_[n].first];
      first.before = before_of(n, n);
      first.is_told_by_ways = told_.by_ways[n];
      first.is_from_outside = told_.from_outside[n];
      if (all_.nodes[n].leaves) continue;
      for (const uint32_t leaf : told_.leaves[n]) records_.blocks[ends_[n].last].next.push_back(next_on_way(n, leaf));
    }
  }

  const RecordSites& sites_;
  const CarriedValues carried_;
  RecordNodes all_;
  // By node:
  std::vector<RegisterSet> own_;    // registers that are in its record anyway
  std::vector<RecordNeeds> needs_;  // of silent blocks before it, by what registers hold at its start
  struct Ends {
    uint32_t first = 0, last = 0;  // numbers of its first part and its last one
  };
  std::vector<Ends> ends_;

  std::map<Pair, std::vector<BlockAccess>>
      accesses_;                     // of silent blocks, by what registers hold at the start of the record
  std::map<Pair, uint32_t> copies_;  // the number of the silent block, for this record
  SilentNodes told_;
  FunctionRecords records_;
};

}  // namespace

std::optional<FunctionRecords> place_memory_records(const RecordSites& sites) { return MemoryRecords(sites).place(); }

}  // namespace profld
