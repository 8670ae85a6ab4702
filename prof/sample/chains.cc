#include "chains.h"

namespace prof {

void SampledChains::add(const std::vector<FramePlace>& frames, uint64_t count, bool in_kernel, ChainIndex& index) {
  uint32_t at = 0;
  for (size_t i = frames.size(); i-- > 0;) {
    const auto [child, is_new] = index.try_emplace({at, frames[i]}, uint32_t(nodes_.size()));
    if (is_new) nodes_.push_back({at, frames[i]});
    at = child->second;
  }
  (in_kernel ? nodes_[at].kernel : nodes_[at].user) += count;
}

void SampledChains::renumber(const std::vector<uint32_t>& modules) {
  for (size_t i = 1; i < nodes_.size(); ++i) nodes_[i].place.module = modules[nodes_[i].place.module];
}

}  // namespace prof
