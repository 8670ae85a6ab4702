// Which program and which profiles a command line of prof means.
//
// Named are a program, profiles, a folder of profiles, or the number of a process; or nothing. Without a profile, the
// newest run in the current directory is meant, from its first process on: what a user has just run. A run of several
// processes, of which some may be of other programs, is shown by its first process, and a remark tells of the others.
//
// Files gmon.out may be named in the place of profiles. A gmon.out does not say which program it is of, so that has to
// be named, or is a.out, as gprof has it. A name that ends with that of a library, gmon.out.libz.so.1, is taken for
// that of a file that prof -g wrote of the library: the one that the program would be started with.

#ifndef PROF_COMMANDS_SHOWING_CHOOSE_H
#define PROF_COMMANDS_SHOWING_CHOOSE_H

#include <map>
#include <string>
#include <vector>

#include "prof/commands/options/options.h"

namespace prof {

struct Choice {
  std::string program;                                     // "": the one that the first profile names
  std::vector<std::string> profiles;                       // not empty
  std::vector<std::string> remarks;                        // what to tell the user
  std::map<std::string, std::string> gmon_libraries = {};  // as of Input
};

// Throws Error if there is no such profile, or if what is named is neither a program nor a profile.
Choice choose(const Options& options);

// Of the profiles of a run, those that can be added to the first one. What is left out is told by a remark.
std::vector<std::string> alike(std::vector<std::string> run, std::vector<std::string>& remarks);

// What to tell of a run of which only the first process is shown; "" if it is all.
std::string remark_on_others(const std::vector<std::string>& run, const std::string& directory);

// Whether one of these is a gmon.out.
bool names_gmon(const std::vector<std::string>& arguments);

// Of a command line that names one. Throws Error if it names something else as well, but for the program in front of
// them, if there is no program, or if the program has no such library; UsageError if the options do not go with a
// gmon.out.
Choice choose_gmon(const Options& options);

}  // namespace prof

#endif
