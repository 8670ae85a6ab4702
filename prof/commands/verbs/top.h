// prof top: what a running program is doing now.

#ifndef PROF_COMMANDS_VERBS_TOP_H
#define PROF_COMMANDS_VERBS_TOP_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace prof {

struct TopOptions {
  std::string subject;  // the process's number, or its profile
  double interval = 1;  // seconds between two looks
  uint64_t times = 0;   // tables to print; 0: until the program ends
  size_t rows = 0;      // of each table; 0: as many as the terminal has room for, 20 without one
  bool raw_names = false, wide = false;
  bool raw_times = false;
  bool help = false;
};

// Throws UsageError. `argv[0]` is skipped.
TopOptions parse_top_options(int argc, char** argv);

std::string top_help_text();

// Prints, for every interval, the functions by the time that they took in it: on a terminal one table in place of the
// other, else one after the other. Returns when the program has ended. Throws Error if there is no such profile.
int top(const TopOptions& options);

}  // namespace prof

#endif
