// Time given on from functions to their callers, as gprof does it: each caller gets as much of it as it made of the calls,
// whatever these calls did. ("gprof's fallacy"; fallacy.h shows where it is wrong.)
//
// First, from callers down to what they call: whether a function has an entry in the call graph, and which fraction of its
// time is shown. Functions inherit both, and what the user chose changes it on the way. Then, from those called up to
// their callers, the times. A cycle takes part as a whole: time of its members goes to callers outside it, in proportion
// to the calls from outside, and not from one member to another.

#ifndef PROF_GPROF_GRAPH_PROPAGATION_H
#define PROF_GPROF_GRAPH_PROPAGATION_H

#include "call_graph.h"

namespace prof::gprof {

// After link_cycles. Sets is_printed, fraction, self_shown, children_shown and child_ticks of functions and cycles, ticks
// of cycles, both of arcs, and shown_ticks of the graph.
void propagate(CallGraph& graph, const Selection& selection = {}, const Trace& trace = {});

// The first half of it: is_printed and fraction, and self_shown of functions.
void propagate_flags(CallGraph& graph, const Selection& selection, const Trace& trace);

}  // namespace prof::gprof

#endif
