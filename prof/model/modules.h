// What modules did: the functions of each added up; and the functions and contexts that a selection of modules leaves.
//
// An import (format/map.h) is no function of the module that calls it, and which library has it is not known. All of them
// are one module, "[libraries]", as in the tree what libraries without hooks did.

#ifndef PROF_MODEL_MODULES_H
#define PROF_MODEL_MODULES_H

#include <cstdint>
#include <string>
#include <vector>

#include "analysis.h"

namespace prof {

struct ModuleSum {
  std::string name;
  const Object* object = nullptr;  // null: it is that of imports. The analysis owns it
  uint32_t functions = 0;          // of which there is anything to tell
  FunctionSum sum, on_processor;   // without total times; on_processor: of the other run, if there are two
  uint64_t samples = 0;
  bool has_calls = true;  // they are counted, at least in part
};

// Of an analysis, which has to outlive it.
class Modules {
 public:
  explicit Modules(const Analysis& analysis);

  // In the order in which they were met, the program first; also those of which there is nothing to tell.
  const std::vector<ModuleSum>& sums() const { return sums_; }

  // Index of the module that a function is in.
  uint32_t of(size_t function) const { return of_[function]; }

  // By index, whether Analysis::module_patterns select it.
  const std::vector<bool>& selected() const { return selected_; }
  bool is_selected(size_t function) const { return selected_[of_[function]]; }

 private:
  void add(const Analysis& analysis, uint32_t function);

  std::vector<ModuleSum> sums_;
  std::vector<uint32_t> of_;  // by function
  std::vector<bool> selected_;
};

// By node, whether it is of a selected module or leads to one that is.
std::vector<bool> selected_nodes(const Analysis& analysis, const Modules& modules);

// Throws Error if no module matches one of the patterns.
void check_patterns(const Analysis& analysis);

}  // namespace prof

#endif
