// Copies of libraries where the dynamic linker cannot be audited.

#ifndef PROF_COMMANDS_COPIES_SEARCH_PATH_H
#define PROF_COMMANDS_COPIES_SEARCH_PATH_H

#include <string>
#include <vector>

#include "shadow_root.h"

namespace prof {

// Why the libraries of a program with this dynamic linker (a path) cannot be exchanged by a search path; "" if they can.
std::string obstacle_to_search_path(const std::string& program, const std::string& linker);

// Where the copy of a program has its libraries searched: first in the shadow root, then where it says itself.
std::string search_path_to(const ShadowRoot& root, const std::string& program);

// Enters the names of `libraries`, which have copies in the shadow root, where the program's copy has them searched. Says in
// a line what is lost by this way. False if it would not make a right program; then that has been said.
bool lead_by_search_path(ShadowRoot& root, const std::string& program, const std::string& copy,
                         const std::string& linker, const std::vector<std::string>& libraries);

}  // namespace prof

#endif
