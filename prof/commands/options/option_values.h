// The arguments of options, from text to values. All throw UsageError, with the option's name, for a text that is none.

#ifndef PROF_COMMANDS_OPTIONS_OPTION_VALUES_H
#define PROF_COMMANDS_OPTIONS_OPTION_VALUES_H

#include <string>

#include "linker-rewrite/options/command_line.h"
#include "prof/views/run/order.h"

namespace prof {

// --type: a value of PROFTYPE. prof run has one more, which is none of the runtime's.
inline constexpr char kAutoType[] = "auto";
std::string type_of_run(const prof_options::Given& given);
std::string type_of(const prof_options::Given& given);
// --sort
SortKey sort_key_of(const prof_options::Given& given);
}  // namespace prof

#endif
