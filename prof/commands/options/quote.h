// Words as a shell takes them.

#ifndef PROF_COMMANDS_OPTIONS_QUOTE_H
#define PROF_COMMANDS_OPTIONS_QUOTE_H

#include <string>

namespace prof {

// A word as it is to be typed, in quotes if it needs some.
std::string quoted(const std::string& word);

}  // namespace prof

#endif
