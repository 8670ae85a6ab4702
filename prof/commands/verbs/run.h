// prof run: rewrite, run and show in one command.

#ifndef PROF_COMMANDS_VERBS_RUN_H
#define PROF_COMMANDS_VERBS_RUN_H

#include "prof/commands/options/options.h"

namespace prof {

// Runs options.arguments (a program and its arguments) profiled, and prints its profile on standard error, since
// standard output is the program's. Returns the program's exit status; if a signal killed the program, kills this
// process with it too. Throws Error if the program could not be rewritten or started.
int run(Options options);

}  // namespace prof

#endif
