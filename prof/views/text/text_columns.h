// Columns of text with a name after them, as all tables have them; or with a line of source or an instruction after
// them. And fields of CSV.

#ifndef PROF_VIEWS_TEXT_TEXT_COLUMNS_H
#define PROF_VIEWS_TEXT_TEXT_COLUMNS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output.h"

namespace prof {

struct TextColumn {
  std::string title;
  // Of the columns that a narrow terminal has no room for, those with the greatest rank are left out first; one of rank
  // 0 never is.
  int rank = 0;
  std::vector<std::string> cells = {};  // one for each line
};

// A name, and what stands before and after it. Where there is no room for all three, the name is shortened, to eight
// columns at the least, and then what stands after it; if hardly a name would be left, the middle of the line is left
// out instead. All printable (libprof/printable.h).
struct TextWithName {
  std::string before, name, after;
};

struct NamedLine {
  std::string name;                      // printable
  std::vector<TextWithName> below = {};  // lines of their own, with nothing in the columns
  bool is_function = true;               // what is left out of its name first is in names.h; else it is the middle
};

// The titles and the lines, one by one, for what shows some of them: columns flushed right, two apart, and the name
// after a tab. `terminal`: the columns of the terminal that is printed on, which no line is wider than; none where
// lines may have any length.
class ColumnLines {
 public:
  // `has_below`: names have lines below them, which want more room.
  ColumnLines(std::vector<TextColumn> columns, bool has_below, std::optional<size_t> terminal);

  // All without a newline. `line`: index among the cells.
  std::string titles() const;
  // The column of the terminal that names begin in.
  size_t start_of_names() const;
  std::string at(size_t line, const NamedLine& named) const;
  std::string below(const TextWithName& text) const;

 private:
  std::string cells(const std::string& (*of)(const TextColumn&, size_t), size_t line) const;

  std::vector<TextColumn> columns_;
  std::vector<size_t> widths_;
  std::optional<size_t> room_;  // for names, if there is a limit
};

// Prints all of these.
void print_columns(std::vector<TextColumn> columns, const std::vector<NamedLine>& lines, std::optional<size_t> terminal,
                   Output& out);

// Lines of source or of instructions, with columns of numbers before them.

struct ListingLine {
  std::vector<std::string> cells;  // one for each title
  std::string text;                // printable
};

// Columns flushed right, two apart, and a text after a tab, line by line.
class Listing {
 public:
  // Prints the titles. `widths`: of the columns, by title, at least; a title may be wider. `terminal`: the columns of
  // the terminal that is printed on, at which lines are cut off; none where lines may have any length.
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

// A field of CSV (RFC 4180): in quotes only where it has to be.
std::string csv_field(std::string_view text);

}  // namespace prof

#endif
