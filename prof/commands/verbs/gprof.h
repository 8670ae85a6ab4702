// prof gprof: gprof's command line and its outputs, of files gmon.out and of profiles.

#ifndef PROF_COMMANDS_VERBS_GPROF_H
#define PROF_COMMANDS_VERBS_GPROF_H

namespace prof {

// `argv[0]` is the word gprof. Returns the command's exit status. Throws UsageError, and Error if what is named cannot be
// read or does not have what is asked for.
int run_gprof(int argc, char** argv);

}  // namespace prof

#endif
