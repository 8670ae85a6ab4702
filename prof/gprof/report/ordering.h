// Orders of functions, or of object files, for linkers: those that prof finds, and those that gprof -r and -R print.

#ifndef PROF_GPROF_REPORT_ORDERING_H
#define PROF_GPROF_REPORT_ORDERING_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

// Which object file a symbol is in: lines as `nm --print-file-name' prints them, FILE:ADDRESS TYPE SYMBOL.

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
  // `places': as they are in the file.
  explicit ObjectFiles(const std::vector<SymbolPlace>& places);

  // With -R gprof knows object files in the place of functions. The first function of each gets its name, and is_mapped; the
  // others of it are dropped, and belong to the function in front of them. By address, as before.
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
