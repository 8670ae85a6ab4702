// The places of a function at which records may stand, as a graph: see record_nodes.cc.

#ifndef LINKER_REWRITE_BLOCKS_RECORD_NODES_H
#define LINKER_REWRITE_BLOCKS_RECORD_NODES_H

#include "record_sites.h"
#include "silent_blocks.h"

namespace profld {

struct RecordNodes {
  struct Way {
    uint32_t from, to;  // blocks
    EdgeRecord record;
  };

  std::vector<RecordNode> nodes;                    // blocks, and behind them ways
  std::vector<double> frequency;                    // by node
  std::vector<std::optional<CounterPlace>> places;  // by block, without values
  std::vector<Way> ways;

  uint32_t blocks() const { return uint32_t(places.size()); }
  bool is_block(size_t node) const { return node < places.size(); }
  Way& way(size_t node) { return ways[node - places.size()]; }
  const Way& way(size_t node) const { return ways[node - places.size()]; }
};

// `writing`: what a record costs, in instructions beside those that keep what is live.
RecordNodes record_nodes(const RecordSites& sites, double writing);

// Where a function has its records, by part, and its blocks, by the numbers in these.
struct FunctionRecords {
  std::vector<std::vector<CounterPlace>> of_part;
  std::vector<std::vector<EdgeRecord>> edges;
  std::vector<TracedBlock> blocks;
};

}  // namespace profld

#endif
