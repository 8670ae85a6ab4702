// What stands before what in gprof's report.

#ifndef PROF_GPROF_GRAPH_ORDER_H
#define PROF_GPROF_GRAPH_ORDER_H

#include <vector>

#include "call_graph.h"

namespace prof::gprof {

// Sets `entries' and the numbers in brackets: by time with children, the most first; then cycles, names without `_' in
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

// Functions for the index, by name, and after them all cycles. Without `unused' those only that were called or have time.
std::vector<uint32_t> by_name(const CallGraph& graph, bool unused);

}  // namespace prof::gprof

#endif
