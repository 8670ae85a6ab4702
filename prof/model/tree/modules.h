// What modules did: the functions of each added up; and the functions and contexts that a selection of modules and
// functions leaves; and how much of the code of modules has hooks.
//
// Imports (format/map.h) are no functions of the modules that call them, and which library has them is not known. All
// of them are one module, "[libraries]".

#ifndef PROF_MODEL_TREE_MODULES_H
#define PROF_MODEL_TREE_MODULES_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "libprof/format/coverage.h"
#include "recorded.h"

namespace prof {

struct ModuleSum {
  uint32_t functions = 0;         // of which there is anything to tell
  FunctionSum sum, on_processor;  // without total times; on_processor: of the other run, if there are two
  uint64_t samples = 0;
  bool has_calls = true;  // they are counted, at least in part
};

class Modules {
 public:
  explicit Modules(const Recorded& recorded);

  // By object; also those of which there is nothing to tell.
  const std::vector<ModuleSum>& sums() const { return sums_; }

  // By object, whether Recorded::module_patterns select it.
  const std::vector<bool>& selected() const { return selected_; }

 private:
  void add(const Recorded& recorded, uint32_t function);

  std::vector<ModuleSum> sums_;
  std::vector<bool> selected_;
};

// By function, whether it is of a selected module, and Recorded::function_filter selects it.
std::vector<bool> selected_functions(const Recorded& recorded, const Modules& modules);

// By node, whether it is of a selected function or leads to one that is.
std::vector<bool> selected_nodes(const Recorded& recorded, const Modules& modules);

// Throws Error if no module matches one of the patterns for modules, or no function one of those for functions that are
// to be shown. Returns what to tell the user of patterns for functions that are not.
std::vector<std::string> check_patterns(const Recorded& recorded);

// How much of the code of a profile's modules has hooks, where that is little: what profld wrote into their files.

struct ModuleCoverage {
  uint32_t object = 0;  // index into FunctionTable::objects
  std::string module;   // its name
  prof_format::CodeCoverage code{};

  uint64_t missing() const { return code.stays + code.unknown; }
  uint64_t could_have_hooks() const { return code.hooked + missing(); }
};

// The modules whose files tell of it, in the order of the table of functions.
std::vector<ModuleCoverage> coverages(const Recorded& recorded);

// The same; none of a profile without hooks.
std::vector<ModuleCoverage> low_coverages(const Recorded& recorded);

// The modules whose counts of blocks are exported: the program's only, unless patterns name modules.
class CountedModules {
 public:
  // It must outlive this.
  explicit CountedModules(const Recorded& recorded);

  bool is_wanted(uint32_t object) const { return wanted_[object]; }
  // It is wanted, and there are counts.
  bool has_counts(uint32_t object) const { return counted_[object]; }

  // Why there are no counts, if that is so; else "". `profile`: what to call it.
  std::string problem(const std::string& profile) const;

  // What to say of those that have code without counters.
  std::vector<std::string> remarks_on_coverage() const;

 private:
  const Recorded& recorded_;
  std::vector<bool> wanted_, counted_;  // by object
  std::set<std::string> others_;        // names of those that are counted and not wanted
};

}  // namespace prof

#endif
