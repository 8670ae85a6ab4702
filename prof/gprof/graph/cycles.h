// Cycles, and an order in which callers come behind what they call: as gprof finds them (model/tree/call_cycles.h), from each function in
// order of address, along the arcs from the newest to the oldest. Cycles are numbered by the address of their heads. So they are
// numbered and printed, and floating-point numbers are added up, in the order of gprof.

#ifndef PROF_GPROF_GRAPH_CYCLES_H
#define PROF_GPROF_GRAPH_CYCLES_H

#include "call_graph.h"

namespace prof::gprof {

// Takes calls of functions by themselves out of their `calls', and sets self_calls.
void count_self_calls(CallGraph& graph);

// Numbers all functions (order), and makes lists of the members of cycles (head, next_member).
void number_functions(CallGraph& graph, const Trace& trace = {});

// Adds an entry for each cycle, numbers them, and counts calls into it and within. After number_functions.
void link_cycles(CallGraph& graph, const Trace& trace = {});

}  // namespace prof::gprof

#endif
