// With --trace=memory, a record has values, too: registers, by which the addresses of all accesses in the block can
// be told (block_addresses.h). A block may be cut into parts for them (block_parts.cc). If there is no place for a value at all, the
// table says that the address is not known; so it does of the few instructions whose addresses are not in general registers.
//
// A block may be silent (silent_blocks.cc) if the values that it needs are still in registers wherever the next record
// stands (carried_values.cc). All of these records have them then, whether it ran before or not: the record before tells
// that. So it has to be worth it: what these values cost, by how often those records are written, has to be less than its own
// record. In the table, a silent block stands once for each record behind it, as each has the values at other places.

#include "memory_records.h"

#include <algorithm>
#include <bit>
#include <map>

#include "block_parts.h"
#include "carried_values.h"

namespace profld {

namespace {

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
  static constexpr int kMostValuesBehind = 4;  // of silent blocks, in a record
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
      std::optional<std::vector<BlockAccess>> found = carried_.accesses_behind(t.silent, blocks_of(t.way), wanted);
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
      if (values > before && values > kMostValuesBehind) return false;
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

  // Says what silent blocks touched, by the record of a node, at the place `at` behind its start.
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
