// How often blocks run for each run of their function, guessed from the code alone: see frequencies.cc.

#ifndef LINKER_REWRITE_BLOCKS_FREQUENCIES_H
#define LINKER_REWRITE_BLOCKS_FREQUENCIES_H

#include <vector>

#include "flow_graph.h"

namespace profld {

inline constexpr double kSeldom = 1.0 / 64;  // how often code is taken to run that was made for what should not be

struct Frequencies {
  std::vector<double> blocks;  // above 0
  // By block, of the ways to its successors, in their order; none if it ends with a jump to labels.
  std::vector<std::vector<double>> ways;
};

// `ends`: by block, whether nothing comes back from it: it ends with a call that does not return, or
// stops.
Frequencies guess_frequencies(const FlowGraph& graph, const std::vector<bool>& ends);

}  // namespace profld

#endif
