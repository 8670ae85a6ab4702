// Lines of source or of instructions, with columns of numbers before them.

#ifndef PROF_VIEWS_TEXT_LISTING_H
#define PROF_VIEWS_TEXT_LISTING_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "output.h"

namespace prof {

struct ListingLine {
  std::vector<std::string> cells;  // one for each title
  std::string text;                // printable
};

// Columns flushed right, two apart, and a text after a tab, line by line.
class Listing {
 public:
  // Prints the titles. `widths`: of the columns, by title, at least; a title may be wider. `terminal`: the columns of the terminal
  // that is printed on, at which lines are cut off; none where lines may have any length.
  Listing(const std::vector<std::string>& titles, std::vector<size_t> widths, std::optional<size_t> terminal,
          Output& out);

  // A cell for each title, none wider than its column; and a text, printable.
  void print(const std::vector<std::string>& cells, const std::string& text);

 private:
  std::vector<size_t> widths_;
  std::optional<size_t> room_;  // for the text
  Output& out_;
};

// The titles and the lines, with columns as wide as they need to be.
void print_listing(const std::vector<std::string>& titles, const std::vector<ListingLine>& lines,
                   std::optional<size_t> terminal, Output& out);

// "+0x1c": from the entry of a function to an address in its code, which may lie before it.
std::string distance(uint64_t address, uint64_t entry);

// A line of source, fit to be printed: as printable (libprof/printable.h), but a backslash stays one.
std::string printable_source(const std::string& line);

}  // namespace prof

#endif
