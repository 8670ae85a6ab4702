// The copy of a program that runs with copies of its libraries.

#ifndef PROF_COMMANDS_PROGRAM_COPY_H
#define PROF_COMMANDS_PROGRAM_COPY_H

#include <string>
#include <vector>

#include "options.h"
#include "unhooked_functions.h"

namespace prof {

// Makes the file `copy`, with the user's options of profld and with `more`. If the options choose no function of the program,
// or only those of libraries are to be profiled, its functions call no hooks; but the copy is made, since the program has to
// be started, and its libraries be loaded, in the same way. False if profld refused, which it says on standard error.
bool make_copy_of_program(const std::string& original, std::vector<std::string> more, UnhookedFunctions& unhooked,
                          const Options& options, const std::string& copy);

}  // namespace prof

#endif
