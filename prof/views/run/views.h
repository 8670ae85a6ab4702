// The views: each prints an analysis its way.

#ifndef PROF_VIEWS_RUN_VIEWS_H
#define PROF_VIEWS_RUN_VIEWS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "order.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/pruning.h"
#include "prof/views/text/output.h"
#include "prof/views/text/text_columns.h"

namespace prof {

struct Gmon;
class JsonWriter;

struct TableOptions {
  SortKey order = SortKey::self;
  std::optional<size_t> most_rows = {};  // -n
  double least_percent = 0;              // --percent
  bool all = false;                      // --all: do not stop after what a terminal has room for
  bool has_header = true;                // false: --no-header
  bool wide = false;                     // -w: names are not cut
  std::optional<size_t> columns = {};    // of the terminal that the table is printed on; none if it is no terminal
  size_t rows_of_terminal = 25;          // how many rows it has room for
};

// The table of functions: what part of all self time each has, the times, the calls, and after a tab the name. Above it
// a header (table.cc), below it how many rows are not shown. A percentage has the mark ~ if it is uncertain
// (numbers.h).
void print_flat(const Analysis& analysis, const TableOptions& options, Output& out);

// The same as texts, for what shows it in another form: all functions, in the order of a key, without their names.
struct FlatTable {
  struct Column {
    TextColumn texts;            // a cell for each row
    std::optional<SortKey> key;  // what rows are sorted by that are sorted by this column
  };
  std::vector<std::string> header;  // lines, printable
  std::vector<Column> columns;
  std::vector<uint32_t> functions;  // of the rows: indexes into the table of functions
};
FlatTable flat_table(const Analysis& analysis, SortKey order = SortKey::self);

// The lines above a table: which program, which profiles, how long it ran, what is not shown. `left_out` of `rows` rows
// are not in the table; `things` is what a row is of: "functions".
std::vector<std::string> table_header(const Analysis& analysis, size_t left_out, size_t rows,
                                      const std::string& things);

// How long single calls lasted: a line for each function with percentiles, in the order of a key. Throws
// Error if the profiles do not say that.
void print_latency(const Analysis& analysis, const TableOptions& options, SortKey order, Output& out);

// The same table with a line for each module, the sum of its functions.
void print_modules(const Analysis& analysis, const TableOptions& options, Output& out);

struct TreeOptions {
  bool whole_recursion = false;      // do not cut recursion off with "..."
  std::optional<SortKey> sort = {};  // of siblings; none: in order of first call
  Pruning pruning = {};
  // A function that only calls another, once each time, and it the next, and so on: all of them on one line.
  bool chains = false;
  // Of the terminal that the tree is printed on, to whose width names are fitted; none if it is no terminal.
  std::optional<size_t> columns = {};
};

// Plan 9's tree: one line per function and context, `name:milliseconds/calls`, indented by depth. Of two runs with `
// waiting milliseconds` at its end. A tree of callers has ` self milliseconds` there, before it. What was left out for
// being small or deep is told in a last line that begins with `...`.
void print_tree(const Analysis& analysis, const TreeOptions& options, Output& out);

// Everything, for programs; of the tree, what pruning leaves. Functions stand in the order of the key, or, without one,
// in that in which they were found.
void print_json(const Analysis& analysis, std::optional<SortKey> order, Output& out, const Pruning& pruning = {});
// The same, as the next value of a document.
void write_json(const Analysis& analysis, std::optional<SortKey> order, JsonWriter& json, const Pruning& pruning);

struct GmonOptions {
  DebugSearch search = {};  // for the original, whose instructions are where calls come from
  bool has_blocks = false;  // counts of basic blocks are in the file itself, and in no other
};

// What gprof reads: for the program at `path`, and for each library, if that is no device, at `path`.SONAME. Returns
// what to tell the user: which files there are, and what they have no room for. Throws Error if the file cannot be
// written.
std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path, const GmonOptions& options = {});

// The names that gmon.out needs, in the form that `gprof -S` reads: gprof's own reading of a program's symbols leaves
// out local ones with dots in their names. Files as those of write_gmon.
void write_gprof_symbols(const Analysis& analysis, const std::string& path);

// A gmon.out in GNU's format, version 1: histograms, then arcs, then basic blocks, all in the order in which they are
// there. Throws Error if the numbers in it are so great that the file would be too large.
void print_gmon(const Gmon& gmon, Output& out);

// A line for each process of a run, or for each thread: how long it ran, and what it is called. Of the profiles at
// these paths, in their order; threads that made no calls have no line. Processes are named by their arguments, threads
// as they were called at their end. A dash stands for what a profile does not tell. Nothing is printed if there is but
// one. `terminal`: the columns of the terminal that is printed on, if it is one. Throws Error if a profile cannot be
// read.
void print_processes(const std::vector<std::string>& profiles, Apart apart, std::optional<size_t> terminal,
                     Output& out);

}  // namespace prof

#endif
