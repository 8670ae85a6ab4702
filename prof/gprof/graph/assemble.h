// All steps from a graph with ticks and calls to one that can be printed.

#ifndef PROF_GPROF_GRAPH_ASSEMBLE_H
#define PROF_GPROF_GRAPH_ASSEMBLE_H

#include "cycles.h"
#include "order.h"
#include "propagation.h"

namespace prof::gprof {

// Of a graph without arcs nothing is done, as in gprof, which then has a flat profile only.
inline void assemble(CallGraph& graph, const Selection& selection = {}, const Trace& trace = {}) {
  if (!graph.has_arcs) return;
  count_self_calls(graph);
  number_functions(graph, trace);
  link_cycles(graph, trace);
  propagate(graph, selection, trace);
  order_entries(graph);
}

}  // namespace prof::gprof

#endif
