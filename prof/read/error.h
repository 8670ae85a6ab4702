// Error, which prof throws but for command lines that it does not understand (UsageError, command_line.h), and the text
// of the system's errors.

#ifndef PROF_READ_ERROR_H
#define PROF_READ_ERROR_H

#include <stdexcept>
#include <string>
#include <system_error>

namespace prof {

// Ends the command with exit status 1. The message is fit for a user ("FILE: what is wrong; what to do"), without the
// "prof: " that main puts before it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The text of an errno value.
inline std::string system_error(int error) { return std::generic_category().message(error); }

}  // namespace prof

#endif
