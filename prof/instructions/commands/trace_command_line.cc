#include "trace_command_line.h"

#include "prof/commands/options/message.h"

namespace prof {

std::string the_trace(const std::vector<std::string>& words, const char* command) {
  const std::string name = command;
  if (words.size() != 1) throw UsageError(name + ": name one trace; see prof " + name + " --help");
  return words[0];
}

void say_trace_remarks(const TraceReader& reader, const TraceNames& names) {
  say_all(names.remarks());
  for (const std::string& remark : reader.remarks())
    say(reader.file().path() + ": the trace " + (reader.is_partial() ? "is partial: it " : "") + remark);
}

}  // namespace prof
