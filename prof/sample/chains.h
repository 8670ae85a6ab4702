// The contexts in which samples were taken: a tree of the calls that led there (prof/unwind/chain.h), laid over each other as
// samples come.

#ifndef PROF_SAMPLE_CHAINS_H
#define PROF_SAMPLE_CHAINS_H

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "prof/unwind/chain.h"

namespace prof {

// An instruction in a context: one at which samples were taken, or one that called.
struct ChainNode {
  uint32_t parent = 0;            // index, less than the node's own
  FramePlace place = {};          // its module is an index into Samples::modules; of the root meaningless
  uint64_t user = 0, kernel = 0;  // samples that were taken here, and in what the kernel did for it
};

// Finds nodes again while samples are added: by the caller and the place.
using ChainIndex = std::map<std::pair<uint32_t, FramePlace>, uint32_t>;

class SampledChains {
 public:
  // One sample, which counts as so many. `frames`: the innermost first. `index`: of all that were added so far.
  void add(const std::vector<FramePlace>& frames, uint64_t count, bool in_kernel, ChainIndex& index);
  void count(ChainEnd end, uint64_t chains = 1) { ends_[unsigned(end)] += chains; }

  // One more, from a file. `node.parent` is one of those that are there.
  void append(const ChainNode& node) { nodes_.push_back(node); }
  // Gives modules other numbers. Nothing can be added after that.
  void renumber(const std::vector<uint32_t>& modules);

  // The first is the root, of which nothing is known.
  const std::vector<ChainNode>& nodes() const { return nodes_; }
  uint64_t ended(ChainEnd end) const { return ends_[unsigned(end)]; }
  bool is_empty() const { return nodes_.size() == 1; }

 private:
  std::vector<ChainNode> nodes_ = {ChainNode()};
  std::array<uint64_t, kChainEnds> ends_ = {};
};

}  // namespace prof

#endif
