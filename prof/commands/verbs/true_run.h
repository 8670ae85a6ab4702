// prof run --true: true times and exact calls, from two runs of a program.

#ifndef PROF_COMMANDS_VERBS_TRUE_RUN_H
#define PROF_COMMANDS_VERBS_TRUE_RUN_H

#include <string>

#include "prof/commands/options/options.h"

namespace prof {

// Runs options.arguments (the program at `program` and its arguments) twice: as it is, under samples, and then
// profiled. Prints what both together say on standard error. Ends, or returns an exit status, as the first run did; 1
// if the program could not be rewritten. Throws Error if it cannot be sampled or started.
int run_true(const Options& options, const std::string& program);

}  // namespace prof

#endif
