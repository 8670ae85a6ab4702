// What prof says to its user on standard error: always one line, `prof: ...`, which a terminal has broken at its width.
// And words in it as a shell takes them.

#ifndef PROF_COMMANDS_OPTIONS_MESSAGE_H
#define PROF_COMMANDS_OPTIONS_MESSAGE_H

#include <string>
#include <vector>

#include "linker-rewrite/options/command_line.h"
#include "prof/read/error.h"

namespace prof {

// A command line that makes no sense: exit status 2.
using prof_options::UsageError;

// Prints `prof: text`. Characters that must not reach a terminal are escaped (libprof/printable.h).
void say(const std::string& text);

// Prints each of them, for remarks that reading and analysis return.
void say_all(const std::vector<std::string>& remarks);

// Words as a shell takes them.

// A word as it is to be typed, in quotes if it needs some.
std::string quoted(const std::string& word);

}  // namespace prof

#endif
