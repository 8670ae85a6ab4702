#include "pruning.h"

namespace prof {

namespace {

// What nodes with all that is below them weigh: their time or, if it was not taken, their calls.
struct Weights {
  std::vector<double> node, node_with_waiting;
  double all = 0, all_with_waiting = 0;

  explicit Weights(const Recorded& recorded) {
    const std::vector<CallNode>& nodes = recorded.tree.nodes;
    FunctionSum whole;
    if (recorded.contexts.is_any()) {
      whole = recorded.contexts.whole;
    } else {
      for (const FunctionSum& sum : recorded.sums) add_self(whole, sum);
    }
    all = double(recorded.timed() ? whole.self : whole.calls);
    all_with_waiting = all + double(whole.self_waiting);
    for (const CallNode& n : nodes) node.push_back(double(recorded.timed() ? n.total : n.calls));
    if (!recorded.timed() && recorded.contexts.callers.empty())
      for (size_t i = nodes.size(); i-- > 1;) node[nodes[i].parent] += node[i];
    node_with_waiting = node;
    for (size_t i = 0; i < nodes.size(); ++i) node_with_waiting[i] += double(nodes[i].total_waiting);
  }

  bool is_small(size_t i, double percent) const {
    return 100 * node[i] < percent * all && 100 * node_with_waiting[i] < percent * all_with_waiting;
  }
};

}  // namespace

ShownNodes shown_nodes(const Recorded& recorded, const Modules& modules, const Pruning& pruning) {
  ShownNodes result;
  std::vector<bool>& shown = result.is_shown;
  shown = selected_nodes(recorded, modules);
  if (pruning.percent <= 0 && pruning.depth == 0) return result;
  const std::vector<CallNode>& nodes = recorded.tree.nodes;
  const Weights weights(recorded);
  enum class Why : uint8_t { none, small, deep };
  std::vector<Why> why(nodes.size(), Why::none);
  std::vector<uint32_t> level(nodes.size());
  const bool is_of_functions = !recorded.contexts.callers.empty() || !recorded.contexts.callees.empty();
  double small = 0;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t parent = nodes[i].parent;
    level[i] = level[parent] + 1;
    why[i] = why[parent];
    if (!shown[i] || why[i] != Why::none) continue;
    if (pruning.depth != 0 && level[i] > pruning.depth) why[i] = Why::deep;
    const bool is_asked_for = is_of_functions && level[i] == 1;
    if (is_asked_for || !weights.is_small(i, pruning.percent)) continue;
    why[i] = Why::small;
    small += weights.node[i];
  }
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (!shown[i] || why[i] == Why::none) continue;
    shown[i] = false;
    ++(why[i] == Why::small ? result.small : result.deep);
  }
  if (weights.all > 0) result.small_percent = 100 * small / weights.all;
  return result;
}

}  // namespace prof
