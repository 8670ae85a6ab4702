// The command line of prof istat.

#ifndef PROF_INSTRUCTIONS_COMMANDS_ISTAT_OPTIONS_H
#define PROF_INSTRUCTIONS_COMMANDS_ISTAT_OPTIONS_H

#include <string>
#include <vector>

#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_views.h"
#include "prof/instructions/trace/trace_names.h"

namespace prof {

struct IstatOptions {
  enum class View { text, json, csv };
  View view = View::text;
  std::vector<std::string> only;  // names of tables; empty: all
  StatisticsForm form;
  MemoryOptions memory;
  bool has_window = false;
  DebugSearch debug;
  bool raw_names = false;
  bool help = false;
  std::string trace;
};

// Throws UsageError. `argv[0]` is skipped.
IstatOptions parse_istat_options(int argc, char** argv);

// prof istat --help
std::string istat_help_text();

}  // namespace prof

#endif
