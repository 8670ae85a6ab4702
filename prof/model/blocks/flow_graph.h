// The flow graph of a function: its basic blocks, how control goes from one to another, and how often.
//
// profld -b counts blocks. How often control took an arc between two of them follows from that nearly always: what
// leaves a block is what came into it, and so is what comes into it. If all arcs of a block but one are known, that one
// is. Where this leads to nothing, or flow is not in the graph, that is said:
//
//     A call may not come back (exit, throw), so less may go on after it.
//     An indirect jump leads to places that its bytes do not tell. Of one through a table profld knows them all.
//     A landing pad is entered by the unwinder.
//
// Blocks end at calls here, as those of compilers do that count lines.

#ifndef PROF_MODEL_BLOCKS_FLOW_GRAPH_H
#define PROF_MODEL_BLOCKS_FLOW_GRAPH_H

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "prof/model/tree/block_counts.h"
#include "prof/read/instructions.h"

namespace prof {

struct FlowBlock {
  uint64_t start = 0, end = 0;  // addresses
  uint64_t count = 0;
  uint64_t end_of_function =
      UINT64_MAX;  // where the instructions begin that only end the function; none if there are none
  Instruction last = {};
  std::optional<uint64_t> last_but_nops = {};  // the address of its last instruction that is none
  bool is_after_call = false;
  bool has_targets = false;  // it ends with an indirect jump, and there is an arc for each place that leads to
};

struct FlowArc {
  uint32_t from = 0, to = 0;  // indices of blocks
  uint64_t count = 0;
  bool is_counted = false;  // the counts of blocks need not tell
  bool is_likely = true;    // false: a table of jumps probably ends before it
  bool is_exact = true;     // false: these allow others as well
};

struct FlowGraph {
  std::vector<FlowBlock> blocks;  // by address
  std::vector<FlowArc> arcs;
  uint64_t entry = 0;  // where the function begins
};

// `blocks`: those of one function, by address. `ways`: of all functions. `entry`: where the
// function begins. `code`: gives the bytes from an address on, as many as are asked for, or fewer.
FlowGraph flow_graph(std::span<const BlockCount> blocks, const WaysOn& ways, uint64_t entry,
                     const std::function<std::string(uint64_t address, uint64_t size)>& code);

// The same in two steps, for who may do without the second: the arcs, which have no counts yet; and these.
FlowGraph flow_graph_without_counts(std::span<const BlockCount> blocks, const WaysOn& ways, uint64_t entry,
                                    const std::function<std::string(uint64_t address, uint64_t size)>& code);

void count_arcs(FlowGraph& graph);

}  // namespace prof

#endif
