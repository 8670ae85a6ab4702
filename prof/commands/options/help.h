// What prof --help prints.

#ifndef PROF_COMMANDS_OPTIONS_HELP_H
#define PROF_COMMANDS_OPTIONS_HELP_H

#include <string>

namespace prof {

// All commands and options, for a person.
std::string help_text();

// Of prof top and prof ctl alone.
std::string top_help_text();
std::string control_help_text();

}  // namespace prof

#endif
