// Which files gmon.out a command line means, and what each is of.
//
// A gmon.out does not say which program it is of, so that has to be named, or is a.out, as gprof has it. A name that ends with
// that of a library, gmon.out.libz.so.1, is taken for that of a file that prof -g wrote of the library: the one that the
// program would be started with.

#ifndef PROF_COMMANDS_GMON_CHOICE_H
#define PROF_COMMANDS_GMON_CHOICE_H

#include <string>
#include <vector>

#include "choose.h"
#include "options.h"

namespace prof {

// Whether one of these is a gmon.out.
bool names_gmon(const std::vector<std::string>& arguments);

// Of a command line that names one. Throws Error if it names something else as well, but for the program in front of
// them, if there is no program, or if the program has no such library; UsageError if the options do not go with a gmon.out.
Choice choose_gmon(const Options& options);

}  // namespace prof

#endif
