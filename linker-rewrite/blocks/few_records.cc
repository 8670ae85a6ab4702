// Which blocks need no record: silent_blocks.cc. The table of a trace has each block once, and the ways on from it.

#include "few_records.h"

namespace profld {

namespace {

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

}  // namespace

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

}  // namespace profld
