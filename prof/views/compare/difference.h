// Views of the difference between two sides: as a table, as a tree, and as JSON.

#ifndef PROF_VIEWS_COMPARE_DIFFERENCE_H
#define PROF_VIEWS_COMPARE_DIFFERENCE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/compare/difference.h"
#include "prof/views/text/output.h"
#include "prof/views/text/text_columns.h"

namespace prof {

struct DifferenceOptions {
  // What the table is sorted by: names, or the amount of a change whatever its sign, the greatest first.
  enum class Sort { self, total, calls, per_call, name, p50, p99, max };  // from p50 on: of durations
  Sort sort = Sort::self;
  std::optional<size_t> rows;    // the table: so many at most
  bool all = false;              // the table: on a terminal, too; the tree: contexts without a known change, too
  bool whole_recursion = false;  // as of the tree of one profile
  bool by_change = false;        // the tree: siblings by the change of their total time, not in order of first call
  bool wide = false;             // names are not cut
  std::optional<size_t> columns = {};  // of the terminal that is printed on; none if it is no terminal
  size_t rows_of_terminal = 25;        // how many rows it has room for
};

// A line on a side, above a table: its program, how many runs, how long they took. Printable.
std::string line_of(const char* letter, const ComparedSide& side);

// The table, for what prints it and for the page of prof diff --html.
struct DifferenceTable {
  std::vector<std::string> header;  // the lines above it: both programs. Printable
  std::vector<uint32_t> functions;  // indices into Difference::functions, in the order of the rows
  std::vector<TextColumn> columns;  // cells of these, and the last ones of all functions together
  size_t left_out = 0;              // functions that options.rows or the terminal had no room for
};
DifferenceTable difference_table(const Difference& difference, const DifferenceOptions& options);

// Both programs; a line for each function with its figures and their changes; the sum of all. `~` before a change: it
// is not known to be more than noise.
void print_difference(const Difference& difference, const DifferenceOptions& options, Output& out);

// How long single calls lasted: a line for each function with calls that have ended, and what changed. Throws Error if
// no run says so.
void print_latency_difference(const Difference& difference, const DifferenceOptions& options, Output& out);

// A line for each context in which something changed, and for those that lead there: `name:time->time/calls->calls`,
// after + if it is on side B only, and after - if it is on side A only.
void print_difference_tree(const Difference& difference, const DifferenceOptions& options, Output& out);

// Everything, for programs. `type`: the PROFTYPE.
void print_difference_json(const Difference& difference, const std::string& type, Output& out);

// Figures of two sides, and what changed between them, as the table and the tree show them.

// A change of a time, with its sign, and ~ before it unless it is known: "+1.23ms", "~-12ns". "0" if there is none that
// could be measured.
std::string duration_change(const Change& change);

// A mean number of calls; with a place if it is no whole number.
std::string count_text(double calls);

// A change in percent of what was before, with its sign: "+12.3%". "" if there was nothing before.
std::string percent_text(const Change& change);

// A text with ~ before it unless the change is known, or there is none.
std::string marked(const Change& change, const std::string& text);

// The name of a function, printable, and what it was before if it had another: "foo (was foo.part.0)".
std::string name_text(const ComparedFunction& function);

}  // namespace prof

#endif
