// All steps from a graph with ticks and calls to one that can be printed; the last of them is the order of what is
// printed.

#ifndef PROF_GPROF_GRAPH_ASSEMBLE_H
#define PROF_GPROF_GRAPH_ASSEMBLE_H

#include <vector>

#include "call_graph.h"

namespace prof::gprof {

// Cycles, and an order in which callers come after what they call: as gprof finds them (model/tree/call_cycles.h), from
// each function in order of address, along the arcs from the newest to the oldest. Cycles are numbered by the address
// of their heads. So they are numbered and printed, and floating-point numbers are added up, in the order of gprof.

// Takes calls of functions by themselves out of their `calls`, and sets self_calls.
void count_self_calls(CallGraph& graph);

// Numbers all functions (order), and makes lists of the members of cycles (head, next_member).
void number_functions(CallGraph& graph, const Trace& trace = {});

// Adds an entry for each cycle, numbers them, and counts calls into it and within. After number_functions.
void link_cycles(CallGraph& graph, const Trace& trace = {});

// Time given on from functions to their callers, as gprof does it: each caller gets as much of it as it made of the
// calls, whatever these calls did. ("gprof's fallacy"; print_fallacy shows where it is wrong.)
//
// First, from callers down to what they call: whether a function has an entry in the call graph, and which fraction of
// its time is shown. Functions inherit both, and what the user chose changes it on the way. Then, from those called up
// to their callers, the times. A cycle takes part as a whole: time of its members goes to callers outside it, in
// proportion to the calls from outside, and not from one member to another.

// After link_cycles. Sets is_printed, fraction, self_shown, children_shown and child_ticks of functions and cycles,
// ticks of cycles, both of arcs, and shown_ticks of the graph.
void propagate(CallGraph& graph, const Selection& selection = {}, const Trace& trace = {});

// The first half of it: is_printed and fraction, and self_shown of functions.
void propagate_flags(CallGraph& graph, const Selection& selection, const Trace& trace);

// All of it, and the order of entries. Of a graph without arcs nothing is done, as in gprof, which then has a flat
// profile only.
void assemble(CallGraph& graph, const Selection& selection = {}, const Trace& trace = {});

// What stands before what in gprof's report.

// Sets `entries` and the numbers in brackets: by time with children, the most first; then cycles, names without `_` in
// front, those with more calls, and by name. The last step before a graph is printed.
void order_entries(CallGraph& graph);

// For the flat profile: functions by own time, then by calls, both the most first; then by name.
std::vector<uint32_t> by_own_time(const CallGraph& graph);

// The arcs to a function, the one with the most time last, beside the function's own line; and those from it, that with
// the most first. Calls within a cycle are the farthest from that line, and of a function by itself farther still.
std::vector<uint32_t> callers_in_order(const CallGraph& graph, uint32_t function, const Trace& trace = {});
std::vector<uint32_t> callees_in_order(const CallGraph& graph, uint32_t function, const Trace& trace = {});

// The members of a cycle, the one with the most time first.
std::vector<uint32_t> members_in_order(const CallGraph& graph, uint32_t cycle);

// Functions for the index, by name, and after them all cycles. Without `unused` those only that were called or have
// time.
std::vector<uint32_t> by_name(const CallGraph& graph, bool unused);

}  // namespace prof::gprof

#endif
