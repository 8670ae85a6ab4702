// The basic blocks of a group, how control passes between them, and how often each runs for each run of its function,
// guessed from the code alone (the end of flow_graph.cc).
//
// A block ends at a call, and at a system call: what is called may not return (exit, throw, longjmp), or return more
// often than it was called (setjmp, fork). So does control leave the graph there, and enter it after.

#ifndef LINKER_REWRITE_BLOCKS_FLOW_GRAPH_H
#define LINKER_REWRITE_BLOCKS_FLOW_GRAPH_H

#include <algorithm>
#include <span>
#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// Where control may come to inside functions, beside the ways that a function's own branches, tables and ends of
// instructions show: what a flow graph has to know of the rest of the program.
struct Arrivals {
  // Instructions at which control may arrive from other functions, from data, or from an unwinder. Entries of functions
  // are not all among them.
  std::vector<OldAddr> entered;  // ascending
  // Instructions of which some jump leaves out the first bytes (hand-written code jumps after a lock prefix).
  std::vector<OldAddr> split;  // ascending

  bool is_entered(OldAddr a) const { return std::ranges::binary_search(entered, a); }
  bool is_split(OldAddr a) const { return std::ranges::binary_search(split, a); }
};

// Whether other code may be put before the instruction, which control comes to first wherever it comes to the
// instruction: not before ENDBR64, which indirect jumps have to find where they lead, nor before what some jump enters
// after its first byte.
bool may_insert_before(const Code& code, const Insn& insn, const Arrivals& arrivals);

// `old_entries`: instructions whose originals lead to their copies.
Arrivals find_arrivals(const Program& program, const std::vector<OldAddr>& old_entries);

struct BasicBlock {
  uint32_t part;             // of the group
  uint32_t first, end;       // its instructions: indexes in the part
  uint32_t first_successor;  // index in FlowGraph::successors; those up to the next block's are its own
  bool entered;              // control may come from outside the graph
  bool leaves;               // control may leave the graph at its end
  bool to_labels = false;    // then it may go on wherever control enters the group: it ends with a jump to labels
};

class FlowGraph {
 public:
  FlowGraph(const Program& program, const Group& group, const Arrivals& arrivals);

  // By part, ascending in each.
  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  std::span<const uint32_t> successors(size_t block) const {
    const size_t end = block + 1 < blocks_.size() ? blocks_[block + 1].first_successor : successors_.size();
    return std::span(successors_).subspan(blocks_[block].first_successor, end - blocks_[block].first_successor);
  }
  // The table through which the jump at the end of a block leads to its successors; null if there is none.
  const JumpTable* table_of(const BasicBlock& block) const;
  const Insn& last_insn(const BasicBlock& b) const { return code_.parts[b.part].insns[b.end - 1]; }
  OldRange range(const BasicBlock& b) const {
    const Code& code = code_.parts[b.part];
    return {code.address(code.insns[b.first]), code.next(last_insn(b))};
  }

 private:
  void find_leaders();
  void lead(OldAddr at);  // if it is in this group
  void cut();
  void connect();
  std::optional<uint32_t> block_at(OldAddr at) const;
  void pass_to(OldAddr at, BasicBlock& from);
  const IndirectJump* jump_of(const BasicBlock& block) const;
  void jump_indirectly(BasicBlock& from);
  bool is_own(OldAddr at) const;

  const Program& program_;
  const Group& group_;
  const FunctionCode& code_;
  const Arrivals& arrivals_;
  std::vector<std::vector<bool>> leaders_;  // by part and instruction
  std::vector<uint32_t> first_block_;       // by part
  std::vector<BasicBlock> blocks_;
  std::vector<uint32_t> successors_;
};

inline constexpr double kSeldom = 1.0 / 64;  // how often code is taken to run that was made for what should not be

struct Frequencies {
  std::vector<double> blocks;  // above 0
  // By block, of the ways to its successors, in their order; none if it ends with a jump to labels.
  std::vector<std::vector<double>> ways;
};

// `ends`: by block, whether nothing comes back from it: it ends with a call that does not return, or
// stops.
Frequencies guess_frequencies(const FlowGraph& graph, const std::vector<bool>& ends);

}  // namespace profld

#endif
