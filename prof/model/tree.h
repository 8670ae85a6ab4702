// The calling context tree of everything that was read: the trees of all threads and profiles laid over each other.
//
// Among the nodes of a thread, as they were recorded, siblings may be the same function. Here a node is one function in
// one calling context, once.
//
// Impossible counts and times (read/self_time.h) are kept, and marked as doubtful, and so is what is computed of them.
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
// Estimated times (PROFTYPE=adaptive) are inclusive (read/estimate.h). The self time of a node is its estimate minus
// those of its children, and minus a pair of hooks for each of their calls. The children of a node cannot have taken
// longer than it did; if their estimates say so, all of them are made smaller by the same factor.
//
// Samples (PROFTYPE=sample). A sample is worth its period, and the variance of their number is what it is of as many
// events that are independent, or of fewer where several came at once. What a node had libraries or the kernel do for
// it are children of its own, [libraries] and [kernel], which nobody called.

#ifndef PROF_MODEL_TREE_H
#define PROF_MODEL_TREE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "functions.h"
#include "probe_cost.h"
#include "prof/read/profile.h"

namespace prof {

struct CallNode {
  uint32_t function = 0;      // index into the function table; meaningless in the root
  uint32_t parent = 0;        // index into Tree::nodes; 0 is the root
  uint32_t first_child = 0;   // children stand in order of first call; 0: none
  uint32_t next_sibling = 0;  // 0: none
  uint64_t calls = 0;
  uint64_t self = 0;              // cycles
  uint64_t total = 0;             // cycles, of the whole subtree
  Range self_range, total_range;  // of self and total, but for what the variances say
  uint64_t self_probe = 0;        // cycles of the probe's that were subtracted from self
  uint64_t total_probe = 0;       // from total
  // Cycles off the processor, apart from these: all, and the part of it in which another thread had it.
  uint64_t self_waiting = 0, total_waiting = 0, self_preempted = 0, total_preempted = 0;
  // Of the estimates of self and total, if they are that; cycles^2.
  double self_variance = 0, total_variance = 0;
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
  bool has_doubtful_calls = false, has_doubtful_self = false, has_doubtful_total = false;

  // Adds calls and times of another function, but for total times.
  void add_self(const FunctionSum& other);
};

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

  // Lays a profile's trees over what is there. Its cycles are multiplied with `scale`.
  TreeFaults add(const Profile& profile, Resolver& resolver, double scale);

  // The tree, with the probe's cost subtracted if `subtract_probe`. To be called once.
  Tree finish(bool subtract_probe);

 private:
  struct State;
  class Overlay;
  std::unique_ptr<State> state_;
};

}  // namespace prof

#endif
