// The command line of the commands that read a trace: options, and one trace.

#ifndef PROF_INSTRUCTIONS_COMMANDS_TRACE_COMMAND_LINE_H
#define PROF_INSTRUCTIONS_COMMANDS_TRACE_COMMAND_LINE_H

#include <getopt.h>

#include <functional>
#include <string>

#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"

namespace prof {

struct TraceCommandLine {
  const char* command;        // as in messages: istat
  const char* short_options;  // as getopt_long wants them, with a colon in front
  const option* words;
  // Takes an option, by its letter or number; false if there is no such one.
  std::function<bool(int option, const std::string& argument)> take;
};

// The name of the trace; "" if `help` is true behind the options. `argv[0]` is skipped. Throws UsageError.
std::string parse_trace_command_line(int argc, char** argv, const TraceCommandLine& line, const bool& help);

// What the commands that read traces tell their user.

// What is missing in a trace that was read, and what is wrong with the program's files.
void say_trace_remarks(const TraceReader& reader, const TraceNames& names);

}  // namespace prof

#endif
