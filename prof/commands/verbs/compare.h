// prof compare: a program as it is, as profld profiles it, and as gcc -pg does, side by side.

#ifndef PROF_COMMANDS_VERBS_COMPARE_H
#define PROF_COMMANDS_VERBS_COMPARE_H

#include <cstddef>
#include <string>
#include <vector>

namespace prof {

struct CompareOptions {
  unsigned runs = 3;        // of each
  std::string pg;           // the program as gcc -pg built it; empty: none
  bool true_times = false;  // one more run, with samples
  bool json = false;
  bool wide = false;
  bool raw_names = false;
  size_t rows = 20;    // functions that are shown
  std::string type;    // PROFTYPE; empty: as the environment has it
  std::string output;  // file for what is printed; empty: standard error
  bool help = false;
  std::vector<std::string> arguments;  // the program and its arguments
};

// Throws UsageError. `argv[0]` is skipped.
CompareOptions parse_compare_options(int argc, char** argv);

std::string compare_help_text();

// Runs all of them in turn, and prints what they took and what was found. Ends, or returns an exit status, as the first
// run did; 1 if the program could not be rewritten. Throws Error if one cannot be started.
int compare(const CompareOptions& options);

}  // namespace prof

#endif
