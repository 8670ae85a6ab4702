// A tree of calls made of a graph without contexts: the graph unfolded from the functions that nobody called.
//
// What a function did is shared among the contexts that it was called in by the numbers of calls that led there, as gprof
// shares it among callers (gmon_graph.h). The shares are rounded so that calls and times of all contexts of a function add
// up to its own. A cycle is unfolded once where it is entered: each member below the first that leads to it, and further
// calls within it as nodes that have calls, and neither time nor callees.
//
// A graph of n functions may have 2^n contexts. So those with most time are made first, and when there are enough, what is
// left of each function is one node at the outermost level: as the runtime folds calls for which there is no room.

#ifndef PROF_MODEL_GMON_GMON_TREE_H
#define PROF_MODEL_GMON_GMON_TREE_H

#include "gmon_graph.h"
#include "prof/model/tree/tree.h"

namespace prof {

struct UnfoldedTree {
  Tree tree;            // cycles are nanoseconds
  uint64_t folded = 0;  // calls of a function, in a context, that are at the outermost level instead
};

// Of a graph that is finished. `most_contexts`: about how many nodes are enough.
UnfoldedTree unfold(const GmonGraph& graph, size_t most_contexts);

}  // namespace prof

#endif
