// The commands of prof that are about traces: prof trace, prof itrace and prof istat.

#ifndef PROF_INSTRUCTIONS_COMMANDS_COMMANDS_H
#define PROF_INSTRUCTIONS_COMMANDS_COMMANDS_H

namespace prof {

// prof trace: steps a program and writes a trace of its instructions. Returns the program's exit status; if a signal
// killed the program, kills this process with it too. `argv[0]` is skipped. Throws UsageError; Error if the program
// could not be started, or what steps it not be reached.
int run_trace(int argc, char** argv);

// prof itrace: the instructions of a trace, one after the other. `argv[0]` is skipped. Returns an exit status.
// Throws UsageError, and Error if the trace cannot be read.
int itrace(int argc, char** argv);

// prof istat: what a trace adds up to. `argv[0]` is skipped. Returns an exit status. Throws UsageError, and Error if
// the trace cannot be read.
int istat(int argc, char** argv);

}  // namespace prof

#endif
