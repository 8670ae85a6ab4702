// Which program and which profiles a command line of prof means.
//
// Named are a program, profiles, a folder of profiles, or the number of a process; or nothing. Without a profile, the
// newest run in the current directory is meant, from its first process on: what a user has just run. A run of several
// processes, of which some may be of other programs, is shown by its first process, and a remark tells of the others.
// Files gmon.out may be named in the place of profiles: gmon_choice.h.

#ifndef PROF_COMMANDS_CHOOSE_H
#define PROF_COMMANDS_CHOOSE_H

#include <map>
#include <string>
#include <vector>

#include "options.h"

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

}  // namespace prof

#endif
