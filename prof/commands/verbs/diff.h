// prof diff: what is different between two builds of a program, or between two runs.

#ifndef PROF_COMMANDS_VERBS_DIFF_H
#define PROF_COMMANDS_VERBS_DIFF_H

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "prof/views/compare/difference.h"

namespace prof {

struct DiffOptions {
  enum class View { table, tree, json };
  View view = View::table;
  std::string view_option;  // that names the view; empty: none does
  DifferenceOptions shown;
  bool raw_names = false;
  bool raw_times = false;
  bool no_inlined = false;
  bool help = false;
  // A function that became slower by more than this part of all the time of A, in percent, is a failure.
  std::optional<double> fail_above;
  // Of each side: its runs, as choose.h takes a profile, a folder or a process; each after the program that it is of, or
  // not. All of them are in the first list if the command line does not tell the sides apart.
  std::array<std::vector<std::string>, 2> arguments;
};

// Throws UsageError. `argv[0]` is skipped.
DiffOptions parse_diff_options(int argc, char** argv);

std::string diff_help_text();

// Prints the difference. Returns the command's exit status: 1 if a part of a profile was damaged, 3 if there is a
// failure as DiffOptions::fail_above says. Throws Error if the sides cannot be compared.
int diff(const DiffOptions& options);

}  // namespace prof

#endif
