#include "figures.h"

#include <algorithm>
#include <optional>

#include "estimate.h"
#include "numbers.h"

namespace prof {

using prof_format::Block;
using prof_format::Node;

Figures::Figures(Profile& profile) : profile_(profile) {
  std::vector<bool> seen(profile.blocks());
  cells_.push_back({0, &profile.header_.lost, &profile.recorded_, &none_});
  for (Thread& thread : profile.threads_) {
    cells_.push_back({thread.block, &thread.lost, &none_, &none_});
    add_tree(thread, seen);
    thread.since = 0;  // it is in the nodes now
  }
  profile.has_plain_estimates_ = profile.header().type == prof_format::kAdaptive;
  std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.block < b.block; });
}

// As far as the tree's links make sense.
void Figures::add_tree(const Thread& thread, std::vector<bool>& seen) {
  if (!node(thread.root) || seen[thread.root]) return;
  const size_t first = nodes_.size();
  size_t i = first;
  seen[thread.root] = true;
  nodes_.push_back(thread.root);
  const NumberReader numbers(profile_, thread);
  std::optional<Estimator> estimator;
  if (profile_.header().type == prof_format::kAdaptive) estimator.emplace(profile_, thread);
  for (; i < nodes_.size(); i++) {
    const Block block = nodes_[i];
    Node* n = node(block);
    for (Block b = n->child; b != 0;) {
      const Node* child = node(b);
      if (!child) break;  // cut off
      if (seen[b] || child->parent != block) {
        is_broken_ = true;
        break;
      }
      seen[b] = true;
      nodes_.push_back(b);
      b = child->sibling;
    }
    if (!is_possible_count(n->count)) continue;
    if (estimator) {
      n->cycles = uint64_t(std::min(i == first ? estimator->whole() : estimator->inclusive(block, *n).cycles, 0x1p62));
    } else {
      const SelfTime self = numbers.self(block, n->cycles);
      n->cycles = self.cycles;
      if (!self.is_possible) profile_.impossible_times_.insert(block);
    }
    cells_.push_back({block, &n->count, &n->cycles, &n->timed});
  }
}

template <class Change>
void Figures::change(const std::vector<BlockCounters>& figures, Change change) {
  auto cell = cells_.begin();
  for (const BlockCounters& f : figures) {
    while (cell != cells_.end() && cell->block < f.block) ++cell;
    if (cell == cells_.end()) break;
    if (cell->block == f.block) change(*cell, f);
  }
  none_ = 0;  // a damaged list may have put something there
}

void Figures::subtract(const std::vector<BlockCounters>& figures) {
  change(figures, [](const Cell& c, const BlockCounters& f) {
    *c.calls -= std::min(*c.calls, f.calls);
    *c.cycles -= std::min(*c.cycles, f.cycles);
    *c.timed -= std::min(*c.timed, f.timed);
  });
}

void Figures::replace(const std::vector<BlockCounters>& figures) {
  const std::vector<BlockCounters> all = list();
  change(all, [](const Cell& c, const BlockCounters&) { *c.calls = *c.cycles = *c.timed = 0; });
  change(figures, [](const Cell& c, const BlockCounters& f) {
    *c.calls = f.calls;
    *c.cycles = f.cycles;
    *c.timed = f.timed;
  });
}

std::vector<BlockCounters> Figures::list() const {
  std::vector<BlockCounters> figures;
  for (const Cell& c : cells_) {
    if (*c.calls || *c.cycles) figures.push_back({*c.calls, *c.cycles, c.block, 0, *c.timed});
  }
  return figures;
}

void Figures::leave_out_empty() {
  if (is_broken_) return;
  std::vector<bool> kept(profile_.blocks());
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node* n = node(nodes_[i]);
    if (n->count || n->cycles) kept[nodes_[i]] = true;
    if (kept[nodes_[i]] && n->parent < kept.size()) kept[n->parent] = true;
  }
  for (const Block parent : nodes_) {
    Block* link = &node(parent)->child;
    Block b = *link;
    for (; b != 0 && node(b); b = node(b)->sibling) {
      if (!kept[b]) continue;
      *link = b;
      link = &node(b)->sibling;
    }
    *link = b;
  }
}

Node* Figures::node(Block block) const { return const_cast<Node*>(profile_.node(block)); }

}  // namespace prof
