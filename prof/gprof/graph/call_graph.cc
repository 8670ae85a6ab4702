#include "call_graph.h"

#include <algorithm>

#include "prof/model/tree/tree.h"

namespace prof::gprof {

uint32_t function_at(const std::vector<Function>& functions, size_t count, uint64_t address) {
  const auto end = functions.begin() + long(count);
  const auto after = std::upper_bound(functions.begin(), end, address,
                                      [](uint64_t a, const Function& function) { return a < function.address; });
  if (after == functions.begin() || address > std::prev(after)->end) return kNone;
  return uint32_t(after - functions.begin() - 1);
}

void add_arc(CallGraph& graph, uint32_t caller, uint32_t callee, uint64_t calls) {
  const auto [at, is_new] = graph.arc_of.try_emplace(uint64_t(caller) << 32 | callee, uint32_t(graph.arcs.size()));
  if (!is_new) {
    add_up(graph.arcs[at->second].calls, calls);
    return;
  }
  graph.functions[caller].callees.push_back(at->second);
  graph.functions[callee].callers.push_back(at->second);
  graph.arcs.push_back({caller, callee, calls});
}

}  // namespace prof::gprof
