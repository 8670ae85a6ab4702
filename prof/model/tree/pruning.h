// Which nodes of a tree are shown: those of the modules that were selected, but not what is small or deep.

#ifndef PROF_MODEL_TREE_PRUNING_H
#define PROF_MODEL_TREE_PRUNING_H

#include <cstdint>
#include <vector>

#include "modules.h"
#include "recorded.h"

namespace prof {

struct Pruning {
  // Leaves out the subtrees that have less of the time than so many percent of it, and of the time and what was waited
  // together less than so many percent of that; or of calls, if these were counted only. A function whose callers or
  // callees were asked for is never small.
  double percent = 0;
  uint32_t depth = 0;  // leaves out what is deeper than so many levels; 0: nothing
};

struct ShownNodes {
  std::vector<bool> is_shown;    // by node
  uint64_t small = 0, deep = 0;  // contexts that were left out for either reason
  double small_percent = 0;      // the part of the time, or of the calls, that the small ones have together
};

// Percentages are of the whole profile, also where contexts were left out of it.
ShownNodes shown_nodes(const Recorded& recorded, const Modules& modules, const Pruning& pruning);

}  // namespace prof

#endif
