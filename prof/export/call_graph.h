// Functions and the calls between them, for formats without contexts: the tree of calls, folded up.
//
// A context is lost here: what an arc (a caller and a function called) costs is the sum over all places in the tree. So
// that these sums are totals of functions again, a place counts only if the function called is not called further out
// already. Then the arcs that lead to a function have its total, recursion or not. Where functions call each other in a
// cycle, a function's own time and the arcs that leave it are more than its total: part of it is in both.

#ifndef PROF_EXPORT_CALL_GRAPH_H
#define PROF_EXPORT_CALL_GRAPH_H

#include <cstdint>
#include <vector>

#include "contexts.h"

namespace prof {

struct Arc {
  static constexpr uint32_t kOutside = UINT32_MAX;  // a caller: code that is not profiled

  uint32_t caller, callee;  // functions
  uint64_t calls;
  Values inclusive;  // calls or cycles, with what the function called called
};

struct CallGraph {
  std::vector<Values> self, total;  // by function; calls or cycles
  std::vector<Arc> arcs;            // by caller, and then by function called; kOutside comes last
  Values whole = {};                // the sum of all `self`
};

CallGraph call_graph_of(const Analysis& analysis, const std::vector<Measure>& measures);

}  // namespace prof

#endif
