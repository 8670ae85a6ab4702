// prof trace: steps a program and writes a trace of its instructions.

#ifndef PROF_INSTRUCTIONS_COMMANDS_TRACE_H
#define PROF_INSTRUCTIONS_COMMANDS_TRACE_H

namespace prof {

// Returns the program's exit status; if a signal killed the program, kills this process with it too. `argv[0]` is skipped.
// Throws UsageError; Error if the program could not be started, or what steps it not be reached.
int run_trace(int argc, char** argv);

}  // namespace prof

#endif
