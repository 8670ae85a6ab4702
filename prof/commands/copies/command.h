// Commands that prof runs to do a part of its work, and what they say.

#ifndef PROF_COMMANDS_COPIES_COMMAND_H
#define PROF_COMMANDS_COPIES_COMMAND_H

#include <string>
#include <utility>
#include <vector>

namespace prof {

struct CommandOutput {
  int status = 0;    // exit status; -1 if a signal ended it
  std::string text;  // what it wrote on standard output and standard error
};

// Runs a command (its path, then its arguments) to its end, with nothing on standard input. Any thread may. Throws
// Error if it cannot be started.
CommandOutput output_of(const std::vector<std::string>& command);

}  // namespace prof

#endif
