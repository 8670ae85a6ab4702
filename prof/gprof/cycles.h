// Cycles, and an order in which callers come behind what they call.
//
// gprof goes through the graph depth first, from each function in order of address, along the arcs from the newest to the
// oldest. A function that it meets again while it is still below it closes a cycle: all functions between the two belong to
// it. The function that it came to first is the head. Functions are numbered as they are left, all members of a cycle
// with the number of their head. Cycles are numbered by the address of their heads.
//
// The result is that of any search for strongly connected components. But which member is the head, in which order the
// members stand, and so how cycles are numbered and in which order floating-point numbers are added up, depends on the
// way: hence the same way here. gprof recurses, and walks along its lists; here is a stack, and who is in whose cycle is
// kept as sets that are joined (union-find), so that graphs of a hundred thousand functions take no time.

#ifndef PROF_GPROF_CYCLES_H
#define PROF_GPROF_CYCLES_H

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
