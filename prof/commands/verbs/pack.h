// profld --libs: a program with its libraries, in a folder that may be taken to another machine.

#ifndef PROF_COMMANDS_VERBS_PACK_H
#define PROF_COMMANDS_VERBS_PACK_H

#include "prof/commands/options/options.h"

namespace prof {

// Makes the folder options.output for the program options.arguments[0], as prof run --libs would run it: with the libraries
// that it starts with here, and those that it was seen to load by prof run with the same options. Returns an exit status:
// 1 if the program could not be rewritten, or has no libraries. Throws Error for other failures; then nothing is left.
//
// In the folder are the copies, those files that are used as they are, the dynamic linker among them, and run-NAME, a script
// that starts the program. Whatever the folder's path, and whatever C library the other machine has, they belong together.
int pack(const Options& options);

}  // namespace prof

#endif
