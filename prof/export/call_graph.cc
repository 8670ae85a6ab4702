#include "call_graph.h"

#include <algorithm>

#include "prof/model/tree/tree.h"

namespace prof {

namespace {

void add_up(Values& sum, const Values& values) {
  for (size_t m = 0; m < sum.size(); ++m) prof::add_up(sum[m], values[m]);
}

// Makes one arc of all with the same ends.
void merge(std::vector<Arc>& arcs) {
  std::sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) {
    return a.caller != b.caller ? a.caller < b.caller : a.callee < b.callee;
  });
  size_t kept = 0;
  for (size_t i = 0; i < arcs.size(); ++i) {
    if (kept > 0 && arcs[kept - 1].caller == arcs[i].caller && arcs[kept - 1].callee == arcs[i].callee) {
      prof::add_up(arcs[kept - 1].calls, arcs[i].calls);
      add_up(arcs[kept - 1].inclusive, arcs[i].inclusive);
    } else {
      arcs[kept] = arcs[i];
      ++kept;
    }
  }
  arcs.resize(kept);
}

}  // namespace

CallGraph call_graph_of(const Analysis& analysis, const std::vector<Measure>& measures) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  const size_t functions = analysis.functions.functions().size();
  CallGraph graph;
  graph.self.resize(functions);
  graph.total.resize(functions);
  std::vector<Values> below(nodes.size());  // with the node itself
  for (size_t i = nodes.size(); i-- > 1;) {
    Values self = {};
    for (size_t m = 0; m < measures.size(); ++m) self[m] = self_of(analysis, measures[m], i);
    add_up(below[i], self);
    add_up(graph.self[nodes[i].function], self);
    add_up(graph.whole, self);
    if (nodes[i].parent != 0) add_up(below[nodes[i].parent], below[i]);
  }

  std::vector<uint32_t> open(functions);  // how many calls of the function the walk is inside of
  auto enter = [&](uint32_t node, uint32_t) {
    const uint32_t callee = nodes[node].function;
    const uint32_t caller = nodes[node].parent == 0 ? Arc::kOutside : nodes[nodes[node].parent].function;
    const bool is_outermost = open[callee]++ == 0;
    graph.arcs.push_back({caller, callee, nodes[node].calls, is_outermost ? below[node] : Values{}});
    if (is_outermost) add_up(graph.total[callee], below[node]);
  };
  walk(analysis.tree, enter, [&](uint32_t node) { --open[nodes[node].function]; });
  merge(graph.arcs);

  const std::vector<Values> others = self_without_nodes(analysis, measures);
  for (size_t f = 0; f < others.size(); ++f) {
    add_up(graph.self[f], others[f]);
    add_up(graph.total[f], others[f]);
    add_up(graph.whole, others[f]);
  }
  return graph;
}

}  // namespace prof
