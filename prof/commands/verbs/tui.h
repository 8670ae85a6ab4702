// prof tui: a profile to look around in, on a terminal.

#ifndef PROF_COMMANDS_VERBS_TUI_H
#define PROF_COMMANDS_VERBS_TUI_H

#include <string>
#include <vector>

#include "prof/model/program/debug_files.h"

namespace prof {

struct TuiOptions {
  std::vector<std::string> arguments;  // as choose.h takes them
  double interval = 1;                 // seconds between two looks at a running program
  bool raw_names = false, wide = false;
  bool raw_times = false;
  DebugSearch debug_files;
  bool help = false;
};

// Throws UsageError. `argv[0]` is skipped.
TuiOptions parse_tui_options(int argc, char** argv);

std::string tui_help_text();

// Shows the profile until the user quits. Returns the command's exit status: 1 if a part of it was damaged. Ends the program by
// a signal that asked for that, when the terminal is as it was. Throws Error if there is no such profile, UsageError if there
// is no terminal.
int run_tui(const TuiOptions& options);

}  // namespace prof

#endif
