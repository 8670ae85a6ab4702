// Nodes of a tree laid over each other to make another tree, level by level.
//
// A node of the new tree stands for a group of members, each a node of the old tree. What is below a member, in
// whatever direction the new tree goes, is sorted by function into the groups of the next level. So a group is worked
// on once, and a table of the functions with a mark for the group is all that has to be searched.

#ifndef PROF_MODEL_TREE_OVERLAY_H
#define PROF_MODEL_TREE_OVERLAY_H

#include <cstdint>
#include <utility>
#include <vector>

#include "tree.h"

namespace prof {

// Sets first_child and next_sibling by the parents, in the order of the nodes.
void link_children(Tree& tree);

class Overlay {
 public:
  struct Member {
    uint32_t at = 0;      // its place in the old tree, which says of which function it is
    uint32_t source = 0;  // the node of the old tree whose calls and times it brings along
  };

  // `functions`: by node of the old tree.
  explicit Overlay(const std::vector<uint32_t>& functions) : functions_(functions) { tree_.nodes.resize(1); }

  // Begins with these below the root.
  void begin(const std::vector<Member>& members) { add_children(0, members); }

  // Goes one level down: calls follow(member, node, below) for each member of the last level, with the new node that it
  // is in; it adds to `below` what stands below the member. Returns false if the last level is empty.
  template <class Follow>
  bool descend(Follow follow) {
    const Level level = std::exchange(last_, {});
    for (const Group& group : level.groups) {
      below_.clear();
      for (size_t m = group.begin; m < group.end; ++m) follow(level.members[m], tree_.nodes[group.node], below_);
      add_children(group.node, below_);
    }
    return !level.groups.empty();
  }

  size_t last_members() const { return last_.members.size(); }
  size_t nodes() const { return tree_.nodes.size(); }

  // The new tree, to be asked for once.
  Tree finish() {
    link_children(tree_);
    return std::move(tree_);
  }

 private:
  struct Group {
    uint32_t node;      // of the new tree
    size_t begin, end;  // of its members
  };
  struct Level {
    std::vector<Group> groups;
    std::vector<Member> members;  // those of a group stand together
  };

  void add_children(uint32_t parent, const std::vector<Member>& members);

  // Of a function: which group is its own among those of one parent. A mark with another number is of an earlier
  // parent.
  struct Mark {
    uint32_t parent_number = 0;
    size_t group = 0;
  };

  const std::vector<uint32_t>& functions_;
  Tree tree_;
  Level last_;
  std::vector<Member> below_;
  std::vector<Mark> marks_;  // by function
  uint32_t parent_number_ = 0;
};

}  // namespace prof

#endif
