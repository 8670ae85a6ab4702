// The command line of the commands that read a trace: options, and one trace.

#ifndef PROF_INSTRUCTIONS_COMMANDS_TRACE_COMMAND_LINE_H
#define PROF_INSTRUCTIONS_COMMANDS_TRACE_COMMAND_LINE_H

#include <string>
#include <vector>

#include "linker-rewrite/options/command_line.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"

namespace prof {

// The one trace that `words` name. `command`: istat. Throws UsageError.
inline std::string the_trace(const std::vector<std::string>& words, const char* command) {
  const std::string name = command;
  if (words.size() != 1) throw UsageError(name + ": name one trace; see prof " + name + " --help");
  return words[0];
}

// The options and the trace, which is in Values::trace. `argv[0]` is skipped. Throws UsageError.
template <class Values>
Values parse_trace_command_line(const prof_options::Table<Values>& table, const char* command, int argc, char** argv,
                                const std::vector<prof_options::Exclusion>& exclusions) {
  Values values;
  const std::string name = std::string("prof ") + command;
  const auto parsed = prof_options::parse(table, {name.c_str()}, argc, argv, values);
  if (values.help) return values;
  prof_options::check(parsed, exclusions, {});
  values.trace = the_trace(parsed.rest, command);
  return values;
}

// What the commands that read traces tell their user.

// What is missing in a trace that was read, and what is wrong with the program's files.
inline void say_trace_remarks(const TraceReader& reader, const TraceNames& names) {
  say_all(names.remarks());
  for (const std::string& remark : reader.remarks())
    say(reader.file().path() + ": the trace " + (reader.is_partial() ? "is partial: it " : "") + remark);
}

}  // namespace prof

#endif
