// Goes through a tree without recursion.

#ifndef PROF_MODEL_TREE_TREE_WALK_H
#define PROF_MODEL_TREE_TREE_WALK_H

#include "tree.h"

namespace prof {

// `enter(node, level)` is called before a node's children, `leave(node)` behind them; not for the root. Calls from outside
// are on level 0.
template <class Enter, class Leave>
void walk(const Tree& tree, const Enter& enter, const Leave& leave) {
  const std::vector<CallNode>& nodes = tree.nodes;
  uint32_t at = nodes[0].first_child, level = 0;
  while (at != 0) {
    enter(at, level);
    if (nodes[at].first_child != 0) {
      at = nodes[at].first_child;
      ++level;
      continue;
    }
    leave(at);
    while (nodes[at].next_sibling == 0 && nodes[at].parent != 0) {
      at = nodes[at].parent;
      --level;
      leave(at);
    }
    at = nodes[at].next_sibling;
  }
}

}  // namespace prof

#endif
