// prof istat: what a trace adds up to.

#ifndef PROF_INSTRUCTIONS_COMMANDS_ISTAT_H
#define PROF_INSTRUCTIONS_COMMANDS_ISTAT_H

namespace prof {

// `argv[0]` is skipped. Returns an exit status. Throws UsageError, and Error if the trace cannot be read.
int istat(int argc, char** argv);

}  // namespace prof

#endif
