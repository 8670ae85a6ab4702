// What prof --help prints.

#ifndef PROF_COMMANDS_OPTIONS_HELP_H
#define PROF_COMMANDS_OPTIONS_HELP_H

#include <string>

namespace prof {

// All commands and options, for a person.
std::string help_text();

}  // namespace prof

#endif
