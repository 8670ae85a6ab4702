// The call graph of a profile with a tree: what calls took is known, and need not be computed of their number. The tree
// may be one of samples: then calls of some functions are not known, and others are estimates.
//
// A call counts for the arc that led to it if the function called is not running already, further out. So the times of
// the arcs to a function add up to its own, recursion or not, and each cycle of the clock is in them once. What a
// function used itself while it was called within itself belongs to the outermost call.
//
// Functions are those of the program and of all its libraries, and of imports if they have hooks. Ticks are cycles of
// the time-stamp counter. Cycles of functions are found as gprof finds them. gprof prints no times of the arcs in them,
// nor of members more than their own; here both are known.

#ifndef PROF_GPROF_GRAPH_MEASURED_H
#define PROF_GPROF_GRAPH_MEASURED_H

#include "call_graph.h"
#include "prof/model/analysis/analysis.h"

namespace prof::gprof {

// Whole, as after assemble(): the times of arcs are those measured.
CallGraph measured_graph(const Analysis& analysis);

struct MeasuredAndPropagated {
  CallGraph measured;
  // The same functions and arcs, in the same places, with times as gprof would have computed them of the numbers of
  // calls. It has neither entries nor arc_of.
  CallGraph propagated;
};
MeasuredAndPropagated measured_and_propagated_graph(const Analysis& analysis);

}  // namespace prof::gprof

#endif
