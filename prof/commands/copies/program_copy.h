// The copy of a program, alone or with copies of its libraries.

#ifndef PROF_COMMANDS_COPIES_PROGRAM_COPY_H
#define PROF_COMMANDS_COPIES_PROGRAM_COPY_H

#include <string>
#include <vector>

#include "library_copies.h"
#include "prof/commands/options/options.h"

namespace prof {

// Path of the rewritten copy of `program`, made with profld unless it is there from an earlier time. profld says on
// standard error why it cannot rewrite a program; then the result is "". Throws Error for other failures.
std::string rewritten_copy(const std::string& program, const Options& options);

// The same of a copy without hooks, of which each thread samples itself (libprof/sampler/threads.cc).
std::string sampling_copy(const std::string& program);

// Makes the file `copy`, with the user's options of profld and with `more`. If the options choose no function of the program,
// or only those of libraries are to be profiled, its functions call no hooks; but the copy is made, since the program has to
// be started, and its libraries be loaded, in the same way. False if profld refused, which it says on standard error.
bool make_copy_of_program(const std::string& original, std::vector<std::string> more, UnhookedFunctions& unhooked,
                          const Options& options, const std::string& copy);

// Room for thread-local variables of libraries that a program is started with: see tunables_for in program_copy.cc.

// What the environment variable GLIBC_TUNABLES, which is `present` now ("" if it is not there), has to be for a program that
// is audited (DT_AUDIT) and loads these libraries (paths). "" if it need not change.
std::string tunables_for(const std::vector<std::string>& libraries, const std::string& present);

}  // namespace prof

#endif
