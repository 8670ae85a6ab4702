// A call graph from what a gmon.out holds.
//
// Ticks of a bin go to the functions that it overlaps, each the part of the bin that it covers, in units of two bytes as
// gprof counts them. Its arithmetic is kept to the last digit: the ends of bins are doubles cut down to whole units. So is
// its fault with the last function of a program, which gets no ticks at all: what gprof compares with, the beginning of
// the next one, lies outside its table.

#ifndef PROF_GPROF_GRAPH_BUILD_H
#define PROF_GPROF_GRAPH_BUILD_H

#include <vector>

#include "call_graph.h"
#include "prof/read/gmon_file.h"

namespace prof::gprof {

// `functions': as of symbols.h. The graph has ticks, calls and arcs; nothing is numbered yet.
CallGraph call_graph_of(std::vector<Function> functions, const Gmon& gmon, const Selection& selection = {},
                        const Trace& trace = {});

// gprof leaves its own runtime out of all that it shows, mcount and the like, as if the user had asked for it.
void leave_out_runtime(const std::vector<Function>& functions, Selection& selection);

}  // namespace prof::gprof

#endif
