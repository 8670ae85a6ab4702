// Which blocks of each function write a record; with memory: memory_records.cc. And here those of all functions are put
// together, and numbered. A function with a block that has no place for the record that it needs is not traced, and the
// report says so.

#include <algorithm>

#include "block_counters.h"
#include "libprof/format/trace.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/decide/threads.h"
#include "record_sites.h"

namespace profld {

namespace {

// The records of a function without memory (profld --trace). Which blocks need no record: silent_blocks.cc. The table
// of a trace has each block once, and the ways on from it.

constexpr double kWriting = 8;  // what a record costs, in instructions beside those that keep what is live

TracedBlock traced_block(const RecordSites& sites, const RecordNodes& all, size_t n, const SilentNodes& told,
                         const std::vector<uint32_t>& numbers) {
  TracedBlock block{};
  if (all.is_block(n)) {
    const BasicBlock& own = sites.graph().blocks()[n];
    block.range = sites.graph().range(own);
    block.instructions = own.end - own.first;
  }
  block.before = told.before[n] == SilentNodes::kNone ? TracedBlock::kNone : numbers[told.before[n]];
  block.is_told_by_ways = told.by_ways[n];
  block.is_from_outside = told.from_outside[n];
  if (all.nodes[n].leaves) return block;
  for (const uint32_t to : all.nodes[n].next)
    block.next.push_back(numbers[numbers[to] == TracedBlock::kNone ? all.nodes[to].next[0] : to]);
  return block;
}

// Nullopt if some block has no place for the record that it needs.
std::optional<FunctionRecords> place_few_records(const RecordSites& sites) {
  RecordNodes all = record_nodes(sites, kWriting);
  const std::optional<SilentNodes> told = choose_silent(all.nodes);
  if (!told) return std::nullopt;
  std::vector<uint32_t> numbers(all.nodes.size(), TracedBlock::kNone);  // silent ways have none
  uint32_t next = 0;
  for (size_t n = 0; n < all.nodes.size(); ++n)
    if (all.is_block(n) || !told->silent[n]) numbers[n] = next++;
  FunctionRecords records;
  records.of_part.resize(sites.group().code.parts.size());
  records.edges.resize(records.of_part.size());
  for (size_t n = 0; n < all.nodes.size(); ++n) {
    if (numbers[n] == TracedBlock::kNone) continue;
    records.blocks.push_back(traced_block(sites, all, n, *told, numbers));
    if (told->silent[n]) continue;
    if (all.is_block(n)) {
      all.places[n]->number = numbers[n];
      records.of_part[sites.graph().blocks()[n].part].push_back(std::move(*all.places[n]));
    } else {
      RecordNodes::Way& way = all.way(n);
      way.record.number = numbers[n];
      records.edges[sites.graph().blocks()[way.from].part].push_back(std::move(way.record));
    }
  }
  return records;
}

// Numbers of the blocks that write records, from 0 on, and after them those of the others: so small ones do for what is
// written.
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
    found[g] = has_memory ? place_memory_records(sites) : place_few_records(sites);
  });

  const Numbering numbers(found);
  if (has_memory && numbers.records() >= prof_format::kRecordNumber) throw refusal(Refusal::too_many_blocks);
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

namespace {

prof_format::TraceOperand operand_of(const TracedAccess& access) {
  static_assert(TracedAccess::kNone == prof_format::kNoValue);
  return {.instruction = access.instruction,
          .size = access.size,
          .flags = access.flags,
          .form = access.form,
          .base = access.base,
          .index = access.index,
          .segment = access.segment,
          .count = access.count,
          .addend = access.addend};
}

}  // namespace

Bytes encode_trace_program(const Image& image, const BlockCounters& counters) {
  const std::vector<TracedBlock>& blocks = counters.traced;
  prof_format::TraceBlocks header{};
  uint64_t ways = 0;
  header.blocks = blocks.size();
  for (const TracedBlock& b : blocks) {
    header.code_size += b.range.size();
    header.operands += b.accesses.size();
    ways += b.next.size();
  }
  header.block_size = sizeof(prof_format::TraceBlock);
  header.operand_size = sizeof(prof_format::TraceOperand);
  prof_format::TraceProgram program{};
  program.table_size = sizeof header + header.blocks * header.block_size + header.operands * header.operand_size +
                       ways * sizeof(uint32_t) + header.code_size;
  program.word_size = counters.record_size;
  program.has_memory = counters.has_memory;

  Bytes out;
  out.reserve(sizeof program + program.table_size);
  append(out, program);
  append(out, header);
  uint64_t code = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const TracedBlock& b = blocks[i];
    prof_format::TraceBlock entry{};
    entry.address = b.range.start.value;
    entry.code = code;
    entry.size = uint32_t(b.range.size());
    entry.instructions = b.instructions;
    entry.operands = uint32_t(b.accesses.size());
    entry.values = uint16_t(b.values);
    if (i < counters.records) entry.flags |= prof_format::kBlockWrites;
    if (b.is_told_by_ways) entry.flags |= prof_format::kBlockToldByWays;
    if (b.is_from_outside) entry.flags |= prof_format::kBlockFromOutside;
    entry.next = uint32_t(b.next.size());
    if (b.before != TracedBlock::kNone) entry.before = b.before + 1;
    append(out, entry);
    code += b.range.size();
  }
  for (const TracedBlock& b : blocks)
    for (const TracedAccess& access : b.accesses) append(out, operand_of(access));
  for (const TracedBlock& b : blocks)
    for (const uint32_t to : b.next) append(out, to);
  for (const TracedBlock& b : blocks) {
    if (b.range.size() == 0) continue;
    const auto bytes = image.bytes(b.range.start, b.range.size());
    if (!bytes) throw internal_error("a basic block is not in the file");
    append_bytes(out, *bytes);
  }
  return out;
}

}  // namespace profld
