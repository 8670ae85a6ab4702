// prof itrace: the instructions of a trace, one after the other.

#ifndef PROF_INSTRUCTIONS_COMMANDS_ITRACE_H
#define PROF_INSTRUCTIONS_COMMANDS_ITRACE_H

namespace prof {

// `argv[0]` is skipped. Returns an exit status. Throws UsageError, and Error if the trace cannot be read.
int itrace(int argc, char** argv);

}  // namespace prof

#endif
