#include "overlay.h"

namespace prof {

void link_children(Tree& tree) {
  std::vector<CallNode>& nodes = tree.nodes;
  std::vector<uint32_t> last_child(nodes.size());
  for (CallNode& node : nodes) node.first_child = node.next_sibling = 0;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    uint32_t& last = last_child[nodes[i].parent];
    (last ? nodes[last].next_sibling : nodes[nodes[i].parent].first_child) = i;
    last = i;
  }
}

void Overlay::add_children(uint32_t parent, const std::vector<Member>& members) {
  ++parent_number_;
  const size_t first = last_.groups.size();
  for (const Member& member : members) {
    const uint32_t function = functions_[member.at];
    if (function >= marks_.size()) marks_.resize(function + function / 2 + 64);
    Mark& mark = marks_[function];
    if (mark.parent_number != parent_number_) {
      mark = {parent_number_, last_.groups.size()};
      last_.groups.push_back({uint32_t(tree_.nodes.size()), 0, 0});
      CallNode node;
      node.function = function;
      node.parent = parent;
      tree_.nodes.push_back(node);
    }
    ++last_.groups[mark.group].end;  // for now: how many they are
  }
  size_t begin = last_.members.size();
  for (size_t g = first; g < last_.groups.size(); ++g) {
    Group& group = last_.groups[g];
    group.begin = begin;
    begin += std::exchange(group.end, begin);
  }
  last_.members.resize(begin);
  for (const Member& member : members) last_.members[last_.groups[marks_[functions_[member.at]].group].end++] = member;
}

}  // namespace prof
