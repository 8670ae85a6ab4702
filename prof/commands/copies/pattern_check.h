// Whether the patterns of -F and -N mean functions of a program and its libraries, taken together. profld looks at one
// file at a time: there a pattern that matches nothing may be for another file.

#ifndef PROF_COMMANDS_COPIES_PATTERN_CHECK_H
#define PROF_COMMANDS_COPIES_PATTERN_CHECK_H

#include <string>
#include <vector>

#include "prof/commands/options/options.h"

namespace prof {

// Says of each pattern that matches no function of the files that are to be profiled: the program, unless only its
// libraries are, and those of its libraries that are wanted. False if -F chooses no function at all, which is said,
// too. But there may be more libraries, which the program opens while it runs: if one that is named (--libs=GLOB) is
// not known yet, nothing speaks against a run.
bool check_patterns(const std::string& program, const std::vector<std::string>& libraries, const Options& options);

// If a pattern of -F matches a function of one of these libraries of a program, which are not to be profiled: says so,
// and how they are. Else "".
std::string remark_on_unprofiled_libraries(const std::string& program, const std::vector<std::string>& libraries,
                                           const Options& options);

}  // namespace prof

#endif
