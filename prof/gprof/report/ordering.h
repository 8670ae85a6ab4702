// Orders of functions, or of object files, for linkers: prof's own, and gprof's. In them those that call each other
// often lie near each other, and what is never run does not lie among what is: it takes fewer pages and lines of the
// caches then.
//
// From a run's calls, in four parts:
//
//     1. What very many call, from many places, belongs to none of them and goes first: of the callees of those arcs
//        that make 90 % of all calls, if they have more than one caller among these arcs, the 1.25 % called most.
//     2. Chains. At first each is a chain of its own. The arcs that make 99 % of the calls, that with the most calls
//        first, join two chains, turned so that caller and callee come as near to each other as they can. This is
//        Pettis' and Hansen's ordering ("Profile guided code positioning", 1990).
//     3. What else was called, that with the most calls first.
//     4. What was not, in the order of addresses.
//
// The shares are gprof's, whose own order, which gprof -r and -R print, is another (below).

#ifndef PROF_GPROF_REPORT_ORDERING_H
#define PROF_GPROF_REPORT_ORDERING_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

// Which object file a symbol is in: lines as `nm --print-file-name` prints them, FILE:ADDRESS TYPE SYMBOL.

struct SymbolPlace {
  std::string file, symbol;
};

// In the order of the lines. Throws Error if the file cannot be read, or has no such line.
std::vector<SymbolPlace> read_object_map(const std::string& path);

// Symbols of functions, one a line: for ld.lld --symbol-ordering-file, and with .text. before each for gold's
// --section-ordering-file.
void print_function_order(const CallGraph& graph, Output& out);

// The object files of the map, one a line, each of them once.
void print_file_order(const CallGraph& graph, const std::vector<SymbolPlace>& places, Output& out);

// The orders that gprof -r and -R print: see gprof_ordering.cc.

// Symbols of functions, one a line. Of a graph that is assembled (assemble.h).
void print_gprof_function_order(const CallGraph& graph, Output& out);

// Object files in the place of functions.
class ObjectFiles {
 public:
  // `places`: as they are in the file.
  explicit ObjectFiles(const std::vector<SymbolPlace>& places);

  // With -R gprof knows object files in the place of functions. The first function of each gets its name, and
  // is_mapped; the others of it are dropped, and belong to the function in front of them. By address, as before.
  void put_files_in_place(std::vector<Function>& functions) const;

  // The object files, one a line: the mapped functions of the graph, and those that have none.
  void print_order(const CallGraph& graph, Output& out) const;

 private:
  struct Entry {
    std::string file, symbol;
    bool is_first;  // of its file
  };
  const Entry* find(const std::string& symbol) const;

  std::vector<Entry> entries_;  // by symbol
};

}  // namespace prof::gprof

#endif
