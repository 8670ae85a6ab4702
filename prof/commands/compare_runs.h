// The runs of prof compare: a program as it is, its profiled copy, and the build of gcc -pg, in turn.

#ifndef PROF_COMMANDS_COMPARE_RUNS_H
#define PROF_COMMANDS_COMPARE_RUNS_H

#include <optional>
#include <string>
#include <vector>

#include "compare.h"
#include "launch.h"
#include "prof/model/compare/side_by_side.h"

namespace prof {

// Paths of what is run; `pg` is empty if there is none.
struct Builds {
  std::string program, copy, pg;
};

struct ComparedRuns {
  RunsTaken plain, profiled;
  std::optional<RunsTaken> pg;
  std::vector<std::string> profiles, gmons;  // that all runs left
  std::string samples;                       // a file of them; empty: none were taken
  int status = 0, last_status = 0;           // of the first and the last run, as from waitpid
  bool was_ended = false;                    // a run was ended from outside, and there was none after it
};

// Runs all as the options say. What they leave is in a folder that is there. Says when a run ends unlike the first, or
// leaves nothing. Throws Error if one cannot be started.
ComparedRuns run_in_turn(const CompareOptions& options, const Builds& builds, const std::string& folder);

}  // namespace prof

#endif
