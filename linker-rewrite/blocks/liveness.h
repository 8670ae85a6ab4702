// What is live where in a group, flags or registers: something may read it before it is overwritten, whatever path
// control takes.
//
// That goes backwards from what is live at the ends of blocks to what is live at their starts, until nothing changes.
// Sets only grow, and a block is looked at again only if that at its end has grown: so each block is looked at as often
// as a set has members at most, however its code is laid out.

#ifndef LINKER_REWRITE_BLOCKS_LIVENESS_H
#define LINKER_REWRITE_BLOCKS_LIVENESS_H

#include <algorithm>
#include <numeric>
#include <vector>

#include "flow_graph.h"
#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

// Sets are bits of an unsigned number. `Of` derives from this, calls solve() in its constructor, and has two functions
// that say what code does:
//
//     Set at_end(size_t block, Set of_successors) const               what is live at the end of a block
//     Set before(const BasicBlock&, uint32_t insn, Set after) const  in front of an instruction
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

// Where those status flags are live that some code changes which is put in between: something may read them before they
// are overwritten.
//
// Compilers pass nothing in flags from one function to another, but nothing forbids it to hand-written code. So all
// functions of the program are looked at: which read flags at their entry, and whether any reads them after a call.
//
// How the functions of a program pass flags to each other.
struct FlagPassing {
  Flags which = kAllFlags;         // the flags that are asked about
  std::vector<OldAddr> takers;     // where control enters a function and flags are read, ascending
  std::vector<OldAddr> returners;  // functions after whose calls flags are read, ascending
  bool any_takes = false;          // all of these may be more
  bool any_returns = false;        // they are read after an indirect call

  bool operator==(const FlagPassing&) const = default;
  bool returns(OldAddr function) const { return std::ranges::binary_search(returners, function); }
  bool takes(OldAddr at) const { return any_takes || std::ranges::binary_search(takers, at); }
};

// `which`: the flags that are asked about.
FlagPassing find_flag_passing(const Program& program, const Arrivals& arrivals, Flags which);

// Of one group, those of `passing.which`.
class LiveFlags : public Liveness<LiveFlags, Flags> {
 public:
  LiveFlags(const Program& program, const Group& group, const FlowGraph& graph, const FlagPassing& passing);

  bool returns_flags() const { return returns_flags_; }

  bool never_returns(const Code& code, const Insn& insn) const {
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    return is_call && noreturn_.never_returns(insn, code.target(insn));
  }

 private:
  friend Liveness;
  Flags at_end(size_t block, Flags of_successors) const;
  Flags before(const BasicBlock& b, uint32_t insn, Flags after) const;
  bool live_outside(OldAddr target) const;  // flags are live there, and a direct jump to it leaves the group
  bool takes_flags(OldAddr target) const;

  const Program& program_;
  const Group& group_;
  const FlagPassing& passing_;
  mutable Noreturn noreturn_;
  bool returns_flags_ = false;
};

// What the program's code does with flags and with gs, of one instruction.
FlagEffect flag_effect_of(const Code& code, const Insn& insn);

// Where general registers are dead: whatever path control takes from there, they are overwritten before anything reads
// them.
//
// Nothing is presumed of what functions leave each other in registers: at calls, returns and wherever else control
// leaves a group, all are live.
using RegisterSet = uint16_t;  // by the numbers in semantics.h

class LiveRegisters : public Liveness<LiveRegisters, RegisterSet> {
 public:
  LiveRegisters(const Group& group, const FlowGraph& graph);

 private:
  friend Liveness;
  RegisterSet at_end(size_t block, RegisterSet of_successors) const;
  RegisterSet before(const BasicBlock& b, uint32_t insn, RegisterSet after) const;

  const Group& group_;
};

}  // namespace profld

#endif
