// The calling context tree of everything that was read: the trees of all threads and profiles laid over each other.
//
// Among the nodes of a thread, as they were recorded, siblings may be the same function. Here a node is one function in
// one calling context, once.
//
// Impossible counts and times (read/cycles.h) are kept, and marked as doubtful, and so is what is computed of them.
//
// Nothing here recurses: a tree may be a million levels deep. Parents precede their children in `nodes`, so sums over
// subtrees are loops from the back.
//
// The probe's own cost, and how sure times are: probe_cost.h. What a node's self time is after the subtraction may be
// less than zero; 0 is shown then, with its range, and nothing is taken from other nodes for it. But since every call
// costs its caller `outside` cycles, a caller with less time than its children's calls cost may not have made them all:
// if calls were folded, the others are folded recursion, which was called further down in the tree, and their cost is
// subtracted there.
//
// Tail calls. A function that jumped to another one had ended, so its own time has no cost of the other's hooks in it:
// there was one hook between the two, the end of the one and the beginning of the other.
//
// Estimated times (PROFTYPE=adaptive) are inclusive (read/decode.cc). The self time of a node is its estimate minus
// those of its children, and minus a pair of hooks for each of their calls. The children of a node cannot have taken
// longer than it did; if their estimates say so, all of them are made smaller by the same factor.
//
// Samples (PROFTYPE=sample). A sample is worth its period, and the variance of their number is what it is of as many
// events that are independent, or of fewer where several came at once. What a node had libraries or the kernel do for
// it are children of its own, [libraries] and [kernel], which nobody called.

#ifndef PROF_MODEL_TREE_TREE_H
#define PROF_MODEL_TREE_TREE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probe_cost.h"
#include "prof/model/program/functions.h"
#include "prof/read/profile.h"

namespace prof {

struct CallNode {
  uint32_t function = 0;      // index into the function table; meaningless in the root
  uint32_t parent = 0;        // index into Tree::nodes; 0 is the root
  uint32_t first_child = 0;   // children stand in order of first call; 0: none
  uint32_t next_sibling = 0;  // 0: none
  uint64_t calls = 0;
  // Cycles, scaled, without what the hooks cost (read/cycles.h): also all others here.
  uint64_t self = 0;
  uint64_t total = 0;             // of the whole subtree
  Range self_range, total_range;  // of self and total, but for what the variances say
  uint64_t self_probe = 0;        // cycles of the probe's that were subtracted from self
  uint64_t total_probe = 0;       // from total
  // Cycles off the processor, apart from these: all, and the part of it in which another thread had it.
  uint64_t self_waiting = 0, total_waiting = 0, self_preempted = 0, total_preempted = 0;
  // Of the estimates of self and total, if they are that; cycles^2.
  double self_variance = 0, total_variance = 0;
  bool has_tail_calls = false;       // some of its calls at least were jumps, at the end of the parent's
  bool has_estimated_calls = false;  // calls are a share of what was counted (sampled_contexts.h)
  // It is impossible, or made of what is.
  bool has_doubtful_calls = false, has_doubtful_self = false, has_doubtful_total = false;
};

struct Tree {
  std::vector<CallNode> nodes;  // nodes[0] is the root: it stands for the code that called into profiled code
};

// Sums over all nodes of a function.
struct FunctionSum {
  uint64_t calls = 0;
  uint64_t self = 0;   // cycles
  uint64_t total = 0;  // cycles; those of a recursive function counted once
  Range self_range, total_range;
  uint64_t self_probe = 0, total_probe = 0;  // as in CallNode, and the following
  uint64_t self_waiting = 0, total_waiting = 0, self_preempted = 0, total_preempted = 0;
  double self_variance = 0, total_variance = 0;
  bool has_estimated_calls = false;
  bool has_doubtful_calls = false, has_doubtful_self = false, has_doubtful_total = false;
};

// Adds, up to the greatest number: counts of damaged profiles may be as great as they can be.
inline void add_up(uint64_t& sum, uint64_t n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = UINT64_MAX;
}

// Adds calls and times but for total times, and (add_total) these, of a node or of a function, to those of another.
template <class Sum, class Part>
void add_self(Sum& sum, const Part& part) {
  add_up(sum.calls, part.calls);
  sum.self += part.self;
  sum.self_range.add(part.self_range);
  sum.self_probe += part.self_probe;
  sum.self_waiting += part.self_waiting;
  sum.self_preempted += part.self_preempted;
  sum.self_variance += part.self_variance;
  sum.has_estimated_calls |= part.has_estimated_calls;
  sum.has_doubtful_calls |= part.has_doubtful_calls;
  sum.has_doubtful_self |= part.has_doubtful_self;
  if constexpr (requires { sum.has_tail_calls, part.has_tail_calls; }) sum.has_tail_calls |= part.has_tail_calls;
}

template <class Sum, class Part>
void add_total(Sum& sum, const Part& part) {
  sum.total += part.total;
  sum.total_range.add(part.total_range);
  sum.total_probe += part.total_probe;
  sum.total_waiting += part.total_waiting;
  sum.total_preempted += part.total_preempted;
  sum.total_variance += part.total_variance;
  sum.has_doubtful_total |= part.has_doubtful_total;
}

// Of a node or a function of which nothing below counts: its total is its own.
template <class Sum>
void begin_total(Sum& sum) {
  sum.total = sum.self;
  sum.total_range = sum.self_range;
  sum.total_probe = sum.self_probe;
  sum.total_waiting = sum.self_waiting;
  sum.total_preempted = sum.self_preempted;
  sum.total_variance = sum.self_variance;
  sum.has_doubtful_total = sum.has_doubtful_self;
}

// One for each of the first `functions` functions.
std::vector<FunctionSum> sum_functions(const Tree& tree, size_t functions);

// What is wrong with the trees of a profile.
struct TreeFaults {
  uint64_t broken_links = 0;
  uint64_t impossible_counts = 0;
  uint64_t impossible_times = 0;

  // A phrase on the first two of these, which are damage ("3 of its links are damaged"); empty if there are none.
  std::string damage() const;
};

class TreeBuilder {
 public:
  TreeBuilder();
  ~TreeBuilder();

  // Lays a profile's trees over what is there.
  TreeFaults add(const Profile& profile, Resolver& resolver, ClockScale scale);

  // The tree, with the probe's cost subtracted if `subtract_probe`. To be called once.
  Tree finish(bool subtract_probe);

 private:
  struct State;
  class Overlay;
  std::unique_ptr<State> state_;
};

// Goes through a tree without recursion: `enter(node, level)` is called before a node's children, `leave(node)` after
// them; not for the root. Calls from outside are on level 0.
template <class Enter, class Leave>
void walk(const Tree& tree, const Enter& enter, const Leave& leave) {
  const std::vector<CallNode>& nodes = tree.nodes;
  uint32_t at = nodes[0].first_child, level = 0;
  while (at != 0) {
    enter(at, level);
    if (nodes[at].first_child != 0) {
      at = nodes[at].first_child;
      ++level;
      continue;
    }
    leave(at);
    while (nodes[at].next_sibling == 0 && nodes[at].parent != 0) {
      at = nodes[at].parent;
      --level;
      leave(at);
    }
    at = nodes[at].next_sibling;
  }
}

}  // namespace prof

#endif
