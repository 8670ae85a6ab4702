// How much of the code of a profile's modules has hooks, where that is little: what profld wrote into their files.

#ifndef PROF_MODEL_TREE_COVERAGE_H
#define PROF_MODEL_TREE_COVERAGE_H

#include <string>
#include <vector>

#include "libprof/format/coverage.h"
#include "recorded.h"

namespace prof {

struct ModuleCoverage {
  std::string module;  // its name
  prof_format::CodeCoverage code{};

  uint64_t missing() const { return code.stays + code.unknown; }
  uint64_t could_have_hooks() const { return code.hooked + missing(); }
};

// The modules whose files tell of it, in the order of the table of functions; none of a profile without hooks.
std::vector<ModuleCoverage> low_coverages(const Recorded& recorded);

}  // namespace prof

#endif
