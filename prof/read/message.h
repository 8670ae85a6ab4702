// What prof says to its user on standard error: always one line, `prof: ...`.

#ifndef PROF_READ_MESSAGE_H
#define PROF_READ_MESSAGE_H

#include <stdexcept>
#include <string>

namespace prof {

// Ends the command with exit status 1. The message is fit for a user ("FILE: what is wrong; what to do"), without the
// "prof: " that main puts before it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A command line that makes no sense: exit status 2.
struct UsageError : Error {
  using Error::Error;
};

// Prints `prof: text`, with what is not fit to be printed escaped (libprof/printable.h).
void say(const std::string& text);

// The text of an errno value.
std::string system_error(int error);

}  // namespace prof

#endif
