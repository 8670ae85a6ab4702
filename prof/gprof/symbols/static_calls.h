// gprof -c: calls that stand in the code, whether a run made them or not.

#ifndef PROF_GPROF_SYMBOLS_STATIC_CALLS_H
#define PROF_GPROF_SYMBOLS_STATIC_CALLS_H

#include "prof/gprof/graph/call_graph.h"
#include "prof/read/elf_file.h"
#include "prof/read/gmon_file.h"

namespace prof::gprof {

// Add arcs with 0 calls from functions to those that they call directly, by their first instruction. Arcs that there
// are already stay as they are. Before assemble.h.

// Those that gprof finds, faults and all: it takes each byte E8 of .text for a call, as far as there are histograms; it
// takes the distance after it for a positive number, and so misses functions in front of their callers; nothing is left
// out for -k; and of the last function it sees no code.
void add_static_calls_of_gprof(CallGraph& graph, const ElfFile& program, const std::vector<GmonHistogram>& histograms,
                               const Trace& trace = {});

// All: instructions are decoded, by Zydis.
void add_static_calls(CallGraph& graph, const ElfFile& program, const Selection& selection, const Trace& trace = {});

}  // namespace prof::gprof

#endif
