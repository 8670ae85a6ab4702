// prof ctl: limits what is recorded of a running program.

#ifndef PROF_COMMANDS_VERBS_CTL_H
#define PROF_COMMANDS_VERBS_CTL_H

#include <string>

namespace prof {

struct ControlOptions {
  enum class Command { on, off, reset, status };
  Command command = Command::status;
  std::string subject;  // the number of a process or the path of a profile
  bool help = false;
};

// argv[0] is skipped. Throws UsageError.
ControlOptions parse_control_options(int argc, char** argv);

std::string control_help_text();

// Returns the command's exit status. Throws Error if recording cannot be changed.
int control(const ControlOptions& options);

}  // namespace prof

#endif
