// A line for each process of a run, or for each thread: how long it ran, and what it is called.

#ifndef PROF_VIEWS_RUN_PROCESSES_H
#define PROF_VIEWS_RUN_PROCESSES_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

// Of the profiles at these paths, in their order; threads that made no calls have no line. Processes are named by their
// arguments, threads as they were called at their end. A dash stands for what a profile does not tell. Nothing is printed if
// there is but one. `terminal`: the columns of the terminal that is printed on, if it is one. Throws Error if a profile cannot be read.
void print_processes(const std::vector<std::string>& profiles, Apart apart, std::optional<size_t> terminal,
                     Output& out);

}  // namespace prof

#endif
