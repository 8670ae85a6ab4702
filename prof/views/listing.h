// Lines of source or of instructions, with columns of numbers before them.

#ifndef PROF_VIEWS_LISTING_H
#define PROF_VIEWS_LISTING_H

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

// The titles and the lines: columns flushed right, two apart, and the text behind a tab. `terminal`: the columns of the
// terminal that is printed on, at which lines are cut off; none where lines may have any length.
void print_listing(const std::vector<std::string>& titles, const std::vector<ListingLine>& lines,
                   std::optional<size_t> terminal, Output& out);

// "+0x1c": from the entry of a function to an address in its code, which may lie before it.
std::string distance(uint64_t address, uint64_t entry);

// A line of source, fit to be printed: as printable (libprof/printable.h), but a backslash stays one.
std::string printable_source(const std::string& line);

}  // namespace prof

#endif
