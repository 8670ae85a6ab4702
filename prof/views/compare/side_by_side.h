// Prints one program as several profilers show it.

#ifndef PROF_VIEWS_COMPARE_SIDE_BY_SIDE_H
#define PROF_VIEWS_COMPARE_SIDE_BY_SIDE_H

#include <cstddef>
#include <optional>

#include "prof/model/compare/side_by_side.h"
#include "prof/views/text/output.h"

namespace prof {

struct SideBySideOptions {
  size_t rows = 20;                    // functions at most
  bool wide = false;                   // names are not cut
  std::optional<size_t> columns = {};  // of the terminal that is printed on
};

// A table of how long the runs took, one of functions, and a line on whose calls agree.
void print_side_by_side(const SideBySide& all, const SideBySideOptions& options, Output& out);

// Everything, for programs.
void print_side_by_side_json(const SideBySide& all, Output& out);

}  // namespace prof

#endif
