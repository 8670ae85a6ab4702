// The views: each prints an analysis its way.

#ifndef PROF_VIEWS_VIEWS_H
#define PROF_VIEWS_VIEWS_H

#include <string>
#include <vector>

#include "output.h"
#include "prof/model/analysis.h"

namespace prof {

// A time with three places, as both views below show it: with the mark ? if it is doubtful (tree.h), else with ~ if it
// is rough, unless it shows as zero.
std::string shown_time(double time, bool is_rough, bool is_doubtful);

// A number of calls, with the mark ? if it is doubtful.
std::string shown_calls(uint64_t calls, bool is_doubtful);

// The same of what was waited, `units` to the second, of an elapsed time and a time on a processor, from which the cost
// of `probes` cycles was subtracted together. For analyses of two runs.
std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, uint64_t probes,
                          double units, bool is_doubtful);

// Plan 9's table of functions: percent of all self time, self seconds, calls, name. Of two runs with the seconds on a
// processor and those that were waited.
void print_flat(const Analysis& analysis, Output& out);

struct TreeOptions {
  bool whole_recursion = false;  // do not cut recursion off with "..."
  bool by_time = false;          // siblings by inclusive time, not in order of first call
};

// Plan 9's tree: one line per function and context, `name:milliseconds/calls`, indented by depth. Of two runs with
// ` waiting milliseconds` at its end.
void print_tree(const Analysis& analysis, const TreeOptions& options, Output& out);

// Everything, for programs.
void print_json(const Analysis& analysis, Output& out);

// What gprof reads, for the functions of the program itself. Returns what to tell the user: what gmon.out has no room
// for. Throws Error if the file cannot be written.
std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path);

// The names that gmon.out needs, in the form that `gprof -S` reads: gprof's own reading of a program's symbols leaves
// out local ones with dots in their names.
void write_gprof_symbols(const Analysis& analysis, const std::string& path);

}  // namespace prof

#endif
