// Which object file a symbol is in: lines as `nm --print-file-name' prints them, FILE:ADDRESS TYPE SYMBOL.

#ifndef PROF_GPROF_ORDERING_OBJECT_MAP_H
#define PROF_GPROF_ORDERING_OBJECT_MAP_H

#include <string>
#include <vector>

namespace prof::gprof {

struct SymbolPlace {
  std::string file, symbol;
};

// In the order of the lines. Throws Error if the file cannot be read, or has no such line.
std::vector<SymbolPlace> read_object_map(const std::string& path);

}  // namespace prof::gprof

#endif
