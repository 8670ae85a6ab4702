// The command line of prof trace.

#ifndef PROF_INSTRUCTIONS_COMMANDS_TRACE_OPTIONS_H
#define PROF_INSTRUCTIONS_COMMANDS_TRACE_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

struct StepOptions {
  // Who steps the program: proftarget, or gdbserver.
  bool by_gdbserver = false;
  std::string address;          // where that waits, HOST:PORT; empty: it is started
  std::string output;           // the trace
  uint64_t buffer = 65536;      // bytes of records that proftarget gathers; 0: each step is sent
  uint64_t limit = UINT64_MAX;  // bytes of the trace
  bool follows_forks = false;
  bool by_blocks = false;   // without the memory that instructions touch
  bool steps_each = false;  // proftarget runs no instruction by itself
  bool pins = true;
  bool help = false;
  std::vector<std::string> program;  // and its arguments
};

// Throws UsageError. `argv[0]` is skipped.
StepOptions parse_trace_options(int argc, char** argv);

// prof trace --help
std::string trace_help_text();

}  // namespace prof

#endif
