// The terminal that something is printed on, if it is one.

#ifndef PROF_VIEWS_TEXT_TERMINAL_H
#define PROF_VIEWS_TEXT_TERMINAL_H

#include <algorithm>
#include <cstddef>
#include <optional>

namespace prof {

struct TerminalSize {
  size_t rows, columns;

  // How many rows of a table are worth printing: so many that the lines around it are seen as well, and no more than one reads.
  size_t rows_of_table() const {
    constexpr size_t kOthers = 8, kMin = 5, kMax = 25;
    return std::clamp(rows > kOthers ? rows - kOthers : 0, kMin, kMax);
  }
};

// The size of the terminal after a file descriptor; none if it is no terminal. The environment variable COLUMNS, where
// it is a number, goes before what the terminal says; 80 columns and 24 rows where neither is known.
std::optional<TerminalSize> terminal_size(int descriptor);

}  // namespace prof

#endif
