// Columns of text with a name after them, as all tables have them.

#ifndef PROF_VIEWS_TEXT_TEXT_COLUMNS_H
#define PROF_VIEWS_TEXT_TEXT_COLUMNS_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "output.h"

namespace prof {

struct TextColumn {
  std::string title;
  // Of the columns that a narrow terminal has no room for, those with the greatest rank are left out first; one of rank 0
  // never is.
  int rank = 0;
  std::vector<std::string> cells = {};  // one for each line
};

// A name with what stands before and after it, which is not shortened as long as eight columns are left for it. Printable
// (libprof/printable.h).
struct TextWithName {
  std::string before, name, after;
};

struct NamedLine {
  std::string name;                      // printable
  std::vector<TextWithName> below = {};  // lines of their own, with nothing in the columns
  bool is_function = true;               // what is left out of its name first is in names.h; else it is the middle
};

// The titles and the lines: columns flushed right, two apart, and the name after a tab. `terminal`: the columns of the
// terminal that is printed on, which no line is wider than; none where lines may have any length.
void print_columns(std::vector<TextColumn> columns, const std::vector<NamedLine>& lines, std::optional<size_t> terminal,
                   Output& out);

}  // namespace prof

#endif
