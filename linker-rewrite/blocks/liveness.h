// What is live where in a group, flags or registers: something may read it before it is overwritten, whatever path control
// takes.
//
// That goes backwards from what is live at the ends of blocks to what is live at their starts, until nothing changes. Sets
// only grow, and a block is looked at again only if that at its end has grown: so each block is looked at as often as a
// set has members at most, however its code is laid out.

#ifndef LINKER_REWRITE_BLOCKS_LIVENESS_H
#define LINKER_REWRITE_BLOCKS_LIVENESS_H

#include <numeric>
#include <vector>

#include "flow_graph.h"

namespace profld {

// Sets are bits of an unsigned number. `Of` derives from this, calls solve() in its constructor, and has two functions that
// say what code does:
//
//     Set at_end(size_t block, Set of_successors) const               what is live at the end of a block
//     Set before(const BasicBlock&, uint32_t insn, Set behind) const  in front of an instruction
template <class Of, class Set>
class Liveness {
 public:
  Set at_start(size_t block) const { return at_start_[block]; }

  // Calls visit(i, set) for each instruction of a block from its last to its first: what is live in front of it.
  template <class Visit>
  void each_insn(size_t block, Visit visit) const {
    const BasicBlock& b = graph_.blocks()[block];
    Set live = of().at_end(block, of_successors_[block]);
    for (uint32_t i = b.end; i-- > b.first;) visit(i, live = of().before(b, i, live));
  }

 protected:
  explicit Liveness(const FlowGraph& graph)
      : graph_(graph), at_start_(graph.blocks().size()), of_successors_(graph.blocks().size()) {}

  void solve() {
    find_predecessors();
    is_pending_.assign(at_start_.size(), true);
    pending_.resize(at_start_.size());
    std::iota(pending_.begin(), pending_.end(), 0u);  // the last one first
    while (!pending_.empty()) {
      const uint32_t b = pending_.back();
      pending_.pop_back();
      is_pending_[b] = false;
      Set live = 0;
      each_insn(b, [&](uint32_t, Set l) { live = l; });
      if ((live & ~at_start_[b]) == 0) continue;
      at_start_[b] = Set(at_start_[b] | live);
      for (size_t p = first_predecessor_[b]; p < first_predecessor_[b + 1]; ++p) pass_on(predecessors_[p], live);
      // Any instruction at which control may enter the group may be a label.
      if (graph_.blocks()[b].entered && (live & ~at_labels_) != 0) {
        at_labels_ = Set(at_labels_ | live);
        for (const uint32_t from : to_labels_) pass_on(from, at_labels_);
      }
    }
  }

  const FlowGraph& graph_;

 private:
  const Of& of() const { return static_cast<const Of&>(*this); }

  void find_predecessors() {
    const size_t count = at_start_.size();
    first_predecessor_.assign(count + 1, 0);
    for (size_t b = 0; b < count; ++b)
      for (const uint32_t s : graph_.successors(b)) ++first_predecessor_[s];
    std::partial_sum(first_predecessor_.begin(), first_predecessor_.end(), first_predecessor_.begin());
    predecessors_.resize(first_predecessor_[count]);
    for (uint32_t b = 0; b < count; ++b) {
      for (const uint32_t s : graph_.successors(b)) predecessors_[--first_predecessor_[s]] = b;
      if (graph_.blocks()[b].to_labels) to_labels_.push_back(b);
    }
  }

  void pass_on(uint32_t to, Set live) {
    if ((live & ~of_successors_[to]) == 0) return;
    of_successors_[to] = Set(of_successors_[to] | live);
    if (is_pending_[to]) return;
    is_pending_[to] = true;
    pending_.push_back(to);
  }

  std::vector<Set> at_start_, of_successors_;
  Set at_labels_ = 0;
  std::vector<size_t> first_predecessor_;  // by block, where its own begin in predecessors_
  std::vector<uint32_t> predecessors_;
  std::vector<uint32_t> to_labels_;  // the blocks that end with a jump to labels
  std::vector<uint32_t> pending_;    // blocks whose ends have changed
  std::vector<bool> is_pending_;
};

}  // namespace profld

#endif
