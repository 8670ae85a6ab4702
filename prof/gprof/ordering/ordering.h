// An order of functions, or of object files, in which those that call each other often lie near each other, and what is
// never run does not lie among what is: it takes fewer pages and lines of the caches then.
//
// From a run's calls, in four parts:
//
//     1. What very many call, from many places, belongs to none of them and goes first: of the callees of those arcs that
//        make 90 % of all calls, if they have more than one caller among these arcs, the 1.25 % called most.
//     2. Chains. At first each is a chain of its own. The arcs that make 99 % of the calls, that with the most calls first,
//        join two chains, turned so that caller and callee come as near to each other as they can. This is Pettis' and
//        Hansen's ordering ("Profile guided code positioning", 1990).
//     3. What else was called, that with the most calls first.
//     4. What was not, in the order of addresses.
//
// The shares are gprof's, whose own order is another: gprof_ordering.cc.

#ifndef PROF_GPROF_ORDERING_ORDERING_H
#define PROF_GPROF_ORDERING_ORDERING_H

#include <cstdint>
#include <string>
#include <vector>

#include "object_map.h"
#include "prof/gprof/graph/call_graph.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

// Symbols of functions, one a line: for ld.lld --symbol-ordering-file, and with .text. before each for gold's
// --section-ordering-file.
void print_function_order(const CallGraph& graph, Output& out);

// The object files of the map, one a line, each of them once.
void print_file_order(const CallGraph& graph, const std::vector<SymbolPlace>& places, Output& out);

}  // namespace prof::gprof

#endif
