// One program as several profilers show it: prof compare.
//
// Functions are those of the program itself: of libraries gprof knows nothing. Shares are parts of all self time that a
// profiler found in them. Runs are alike, so calls are those of one run, the mean of all.

#ifndef PROF_MODEL_COMPARE_SIDE_BY_SIDE_H
#define PROF_MODEL_COMPARE_SIDE_BY_SIDE_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/tree/recorded.h"

namespace prof {

// How long the runs of one build took.
struct RunsTaken {
  std::string name;                   // of the profiler, "profld"
  std::string program;                // path
  std::vector<double> user, elapsed;  // seconds; user: with the system's for it, and children that it waited for

  double median_user() const;
  double median_elapsed() const;
};

// What a profiler says of a function.
struct Shown {
  bool occurs = false;
  std::optional<double> calls;  // none if the profiler does not count them
  double share = 0;             // of 1
};

struct ShownFunction {
  std::string name;
  std::vector<Shown> by;  // as SideBySide::profilers
};

struct SideBySide {
  std::vector<RunsTaken> runs;         // the first: without a profiler
  std::vector<std::string> profilers;  // names of those that say something of functions
  std::vector<bool> counts;            // by profiler: it counts calls
  std::vector<ShownFunction> functions;

  // Where two profilers count calls: of how many functions they have the same number, and another; and how many only
  // the first has, and only the second.
  struct Agreement {
    size_t same = 0, different = 0, first_only = 0, second_only = 0;
  };
  std::optional<Agreement> agreement;
};

// What one profiler said.
struct ShownRuns {
  std::string name;
  const Recorded* recorded = nullptr;
  size_t runs = 1;  // that are added up in it
  bool counts_calls = true;
};

// Puts together what profilers said; those that are none at all are left out. Functions with the greatest share, by
// the last that has any, come first.
SideBySide side_by_side(std::vector<RunsTaken> runs, const std::vector<ShownRuns>& profilers);

}  // namespace prof

#endif
