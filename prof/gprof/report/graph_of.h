// What gprof would show of a run, from what prof knows of it.

#ifndef PROF_GPROF_REPORT_GRAPH_OF_H
#define PROF_GPROF_REPORT_GRAPH_OF_H

#include "prof/gprof/graph/call_graph.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/gmon_file.h"

namespace prof::gprof {

// The graph that gprof makes of the gmon.out that prof -g writes of a program or a library; whole, as after assemble().
// `search`: for the code of libraries, which tells where calls stand.
CallGraph graph_as_gprof(const Analysis& analysis, uint32_t object, const DebugSearch& search);

// The same of a file gmon.out and the program that wrote it.
CallGraph graph_as_gprof(const Object& program, const Gmon& gmon);

}  // namespace prof::gprof

#endif
