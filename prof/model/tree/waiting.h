// Two runs of a program side by side, one with its elapsed time and one with its time on a processor: what is left of
// the first when the second is taken away, the program waited.
//
// What belongs together is found by where it is: the functions that lead to a node from the root are its path, and no
// two nodes of a tree have the same.

#ifndef PROF_MODEL_TREE_WAITING_H
#define PROF_MODEL_TREE_WAITING_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/program/functions.h"
#include "tree.h"

namespace prof {

// The run with the times on a processor, beside a tree of elapsed times and its functions.
struct ProcessorRun {
  Tree tree;                      // nodes with the indices of those of the same paths in the other tree
  std::vector<FunctionSum> sums;  // by function
  bool raw_times = false;         // the probe's own cost is in the times of both runs, differently

  // Cycles that were waited of elapsed cycles. The runs are two, and differ a little: what is below 0 is 0, but for raw
  // times.
  int64_t waiting(uint64_t elapsed, uint64_t on_processor) const {
    const int64_t rest = int64_t(elapsed - on_processor);
    return rest < 0 && !raw_times ? 0 : rest;
  }
};

// Gives two trees of the same functions the same nodes: at the same indices there are the same paths. What is in one of
// them only gets neither calls nor time in the other. The nodes of `first` keep their indices and their order.
void unite(Tree& first, Tree& second);

// What to say about functions that were not called as often in both runs; "" if there are none. One sum for each of the
// functions in each run.
std::string different_calls(const std::vector<FunctionSum>& first, const std::vector<FunctionSum>& second,
                            const std::vector<Function>& functions);

}  // namespace prof

#endif
