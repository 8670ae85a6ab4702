// Where in the basic blocks of a group a record may stand (profld --trace), and which code it has there: see
// record_sites.cc.

#ifndef LINKER_REWRITE_BLOCKS_RECORD_SITES_H
#define LINKER_REWRITE_BLOCKS_RECORD_SITES_H

#include "block_counters.h"
#include "flow_graph.h"
#include "linker-rewrite/unwind/register_rules.h"
#include "liveness.h"
#include "silent_blocks.h"

namespace profld {

// How many instructions the code of a record needs besides those that write.
unsigned cost_of(const RecordCode& code);

class RecordSites {
 public:
  RecordSites(const Program& program, const Group& group, const Arrivals& arrivals, const FlagPassing& passing);

  const Group& group() const { return group_; }
  const FlowGraph& graph() const { return graph_; }
  bool may_stand_before(const BasicBlock& b, uint32_t insn) const;

  // Of a record before the instruction `insn` of a part, or after it if it is a jump. `values`: what is recorded.
  // Nullopt: none can be there.
  std::optional<RecordCode> code_at(size_t part, uint32_t insn, Flags live_flags, RegisterSet live_registers,
                                    std::vector<uint8_t> values = {}) const;
  // Of one on the way from the jump at the end of a block to another block; at the start of a block.
  std::optional<RecordCode> code_between(uint32_t from, uint32_t to, std::vector<uint8_t> values = {}) const;
  std::optional<RecordCode> code_at_start(uint32_t block, std::vector<uint8_t> values) const;

  // What is live before each instruction of a block.
  struct Live {
    std::vector<Flags> flags;
    std::vector<RegisterSet> registers;
  };
  Live live_in(uint32_t b) const;

  // The best place in a block, without values.
  std::optional<CounterPlace> best_in(uint32_t b) const;
  // By block, whether control never comes back from it.
  std::vector<bool> ends() const;

 private:
  const Group& group_;
  const Arrivals& arrivals_;
  const FlowGraph graph_;
  const LiveFlags flags_;
  const LiveRegisters registers_;
  std::vector<std::vector<RowLimit>> limits_;  // by part
};

// Takes the place before an instruction if there may be code there, and it is not dearer.
void keep_better(std::optional<CounterPlace>& best, uint32_t insn, const std::optional<RecordCode>& code);

// The places of a function at which records may stand, as a graph.
struct RecordNodes {
  struct Way {
    uint32_t from, to;  // blocks
    EdgeRecord record;
  };

  std::vector<RecordNode> nodes;                    // blocks, and after them ways
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

// Of a function with memory (profld --trace=memory): see memory_records.cc. Nullopt if some block has no place for the
// record that it needs.
std::optional<FunctionRecords> place_memory_records(const RecordSites& sites);

}  // namespace profld

#endif
