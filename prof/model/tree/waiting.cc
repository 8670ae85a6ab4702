#include "waiting.h"

#include <algorithm>
#include <unordered_map>

#include "linker-rewrite/text/numbers.h"

namespace prof {

void unite(Tree& first, Tree& second) {
  std::vector<CallNode>& nodes = first.nodes;
  // Children of a node by their function, and the last of them.
  auto key = [](uint32_t parent, uint32_t function) { return uint64_t(parent) << 32 | function; };
  std::unordered_map<uint64_t, uint32_t> child_of;
  child_of.reserve(std::max(nodes.size(), second.nodes.size()));
  std::vector<uint32_t> last_child(nodes.size());
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    child_of.emplace(key(nodes[i].parent, nodes[i].function), i);
    if (nodes[i].next_sibling == 0) last_child[nodes[i].parent] = i;
  }

  std::vector<uint32_t> place(second.nodes.size());  // in `first`
  for (uint32_t i = 1; i < second.nodes.size(); ++i) {
    const uint32_t parent = place[second.nodes[i].parent], function = second.nodes[i].function;
    const auto [at, is_new] = child_of.try_emplace(key(parent, function), uint32_t(nodes.size()));
    place[i] = at->second;
    if (!is_new) continue;
    CallNode node;
    node.function = function;
    node.parent = parent;
    node.has_tail_calls = second.nodes[i].has_tail_calls;
    (last_child[parent] ? nodes[last_child[parent]].next_sibling : nodes[parent].first_child) = at->second;
    last_child[parent] = at->second;
    nodes.push_back(node);
    last_child.push_back(0);
  }

  Tree united;
  united.nodes.resize(nodes.size());
  for (uint32_t i = 0; i < second.nodes.size(); ++i) united.nodes[place[i]] = second.nodes[i];
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    CallNode& node = united.nodes[i];
    node.function = nodes[i].function;
    node.parent = nodes[i].parent;
    node.first_child = nodes[i].first_child;
    node.next_sibling = nodes[i].next_sibling;
  }
  second = std::move(united);
}

std::string different_calls(const std::vector<FunctionSum>& first, const std::vector<FunctionSum>& second,
                            const std::vector<Function>& functions) {
  size_t different = 0, example = 0;
  auto difference = [&](size_t f) {
    return std::max(first[f].calls, second[f].calls) - std::min(first[f].calls, second[f].calls);
  };
  for (size_t f = 0; f < functions.size(); ++f) {
    if (difference(f) == 0) continue;
    if (different++ == 0 || difference(f) > difference(example)) example = f;
  }
  if (different == 0) return "";
  return prof_text::count_of(different, "function was", "functions were") + " not called as often in both runs (" +
         functions[example].name + " " + std::to_string(first[example].calls) + " and " +
         std::to_string(second[example].calls) + " times): the program did not do the same twice";
}

}  // namespace prof
