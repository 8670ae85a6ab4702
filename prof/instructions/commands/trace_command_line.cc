#include "trace_command_line.h"

#include "prof/commands/options/message.h"

namespace prof {

std::string parse_trace_command_line(int argc, char** argv, const TraceCommandLine& line, const bool& help) {
  const std::string command = line.command;
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c; (c = getopt_long(argc, argv, line.short_options, line.words, nullptr)) != -1;) {
    const std::string argument = optarg ? optarg : "";
    if (c == ':') throw UsageError(command + ": " + argv[optind - 1] + " needs an argument");
    if (!line.take(c, argument))
      throw UsageError(command + ": no such option, or not with this argument: " + argv[optind - 1]);
  }
  if (help) return "";
  if (argc - optind != 1) throw UsageError(command + ": name one trace; prof " + command + " --help tells more");
  return argv[optind];
}

void say_trace_remarks(const TraceReader& reader, const TraceNames& names) {
  say_all(names.remarks());
  for (const std::string& remark : reader.remarks())
    say(reader.file().path() + ": the trace " + (reader.is_partial() ? "is partial: it " : "") + remark);
}

}  // namespace prof
