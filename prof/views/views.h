// The views: each prints an analysis its way.

#ifndef PROF_VIEWS_VIEWS_H
#define PROF_VIEWS_VIEWS_H

#include <string>
#include <vector>

#include "output.h"
#include "prof/model/analysis.h"

namespace prof {

// Plan 9's table of functions: percent of all self time, self seconds, calls, name. Of two runs with the seconds on a
// processor and those that were waited. Above it a line that says how long the program ran and had a processor. A
// percentage has the mark ~ if its time is a range.
void print_flat(const Analysis& analysis, Output& out);

struct TreeOptions {
  bool whole_recursion = false;  // do not cut recursion off with "..."
  bool by_time = false;          // siblings by inclusive time, not in order of first call
};

// The same table with a line for each module, the sum of its functions.
void print_modules(const Analysis& analysis, Output& out);

// Plan 9's tree: one line per function and context, `name:milliseconds/calls`, indented by depth. Of two runs with
// ` waiting milliseconds` at its end.
void print_tree(const Analysis& analysis, const TreeOptions& options, Output& out);

// Everything, for programs.
void print_json(const Analysis& analysis, Output& out);

// What gprof reads: for the program at `path', and for each library, if that is no device, at `path'.SONAME. Returns
// what to tell the user: which files there are, and what they have no room for. Throws Error if the file cannot be written.
std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path);

// The names that gmon.out needs, in the form that `gprof -S` reads: gprof's own reading of a program's symbols leaves
// out local ones with dots in their names. Files as those of write_gmon.
void write_gprof_symbols(const Analysis& analysis, const std::string& path);

}  // namespace prof

#endif
