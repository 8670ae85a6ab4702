#include "object_map.h"

#include <fstream>

#include "prof/read/error.h"

namespace prof::gprof {

std::vector<SymbolPlace> read_object_map(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path + ": cannot be read");
  std::vector<SymbolPlace> places;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':'), last = line.rfind(' ');
    if (colon == std::string::npos || colon == 0 || last == std::string::npos || last < colon) continue;
    // ADDRESS TYPE SYMBOL: the type is one letter, between blanks.
    if (last < 2 || line[last - 2] != ' ' || last + 1 == line.size()) continue;
    places.push_back({line.substr(0, colon), line.substr(last + 1)});
  }
  if (places.empty()) throw Error(path + ": has no line as nm --print-file-name prints them, FILE:ADDRESS TYPE SYMBOL");
  return places;
}

}  // namespace prof::gprof
