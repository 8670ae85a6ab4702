#include "order.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace prof::gprof {

namespace {

double shown(const Function& function) { return function.self_shown + function.children_shown; }

bool has_underscore(const Function& function) { return function.name.starts_with('_'); }

bool goes_before(const CallGraph& graph, uint32_t left, uint32_t right) {
  const Function &a = graph.functions[left], &b = graph.functions[right];
  if (a.is_outside != b.is_outside) return b.is_outside;
  if (shown(a) != shown(b)) return shown(a) > shown(b);
  if (graph.is_cycle(left) || graph.is_cycle(right)) return !graph.is_cycle(right);
  if (has_underscore(a) != has_underscore(b)) return has_underscore(b);
  if (a.calls != b.calls) return a.calls > b.calls;
  return a.name < b.name;
}

// How far from a function's own line an arc stands at least.
int nearness(const CallGraph& graph, const Arc& arc) {
  if (arc.caller == arc.callee) return 0;
  return graph.is_within_cycle(arc) ? 1 : 2;
}

// What decides the place of an arc, looked up once.
struct Place {
  uint32_t arc;
  int nearness;
  double time;
  uint64_t calls;

  bool operator<(const Place& other) const {
    if (nearness != other.nearness) return nearness < other.nearness;
    if (nearness == 2 && time != other.time) return time < other.time;
    return calls < other.calls;
  }
};

std::vector<uint32_t> sorted_arcs(const CallGraph& graph, std::vector<uint32_t> arcs, bool least_first,
                                  const Trace& trace) {
  std::vector<Place> places;
  places.reserve(arcs.size());
  for (const uint32_t a : arcs) {
    const Arc& arc = graph.arcs[a];
    places.push_back({a, nearness(graph, arc), arc.ticks + arc.child_ticks, arc.calls});
  }
  std::stable_sort(places.begin(), places.end(),
                   [&](const Place& a, const Place& b) { return least_first ? a < b : b < a; });
  std::ranges::transform(places, arcs.begin(), &Place::arc);
  if (trace.has(Trace::arc_order))
    for (const uint32_t a : arcs) {
      const Arc& arc = graph.arcs[a];
      char numbers[128];
      std::snprintf(numbers, sizeof numbers, ": %f + %f ticks, %llu calls", arc.ticks, arc.child_ticks,
                    static_cast<unsigned long long>(arc.calls));
      trace.print("[arcs] " + graph.functions[arc.caller].name + " calls " + graph.functions[arc.callee].name +
                  numbers);
    }
  return arcs;
}

}  // namespace

void order_entries(CallGraph& graph) {
  graph.entries.resize(graph.functions.size());
  std::iota(graph.entries.begin(), graph.entries.end(), 0);
  std::stable_sort(graph.entries.begin(), graph.entries.end(),
                   [&](uint32_t a, uint32_t b) { return goes_before(graph, a, b); });
  for (size_t i = 0; i < graph.entries.size(); ++i) graph.functions[graph.entries[i]].index = uint32_t(i + 1);
}

std::vector<uint32_t> by_own_time(const CallGraph& graph) {
  std::vector<uint32_t> rows(graph.function_count);
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t left, uint32_t right) {
    const Function &a = graph.functions[left], &b = graph.functions[right];
    if (a.ticks != b.ticks) return a.ticks > b.ticks;
    if (a.calls != b.calls) return a.calls > b.calls;
    return a.name < b.name;
  });
  return rows;
}

std::vector<uint32_t> callers_in_order(const CallGraph& graph, uint32_t function, const Trace& trace) {
  return sorted_arcs(graph, graph.functions[function].callers, true, trace);
}

std::vector<uint32_t> callees_in_order(const CallGraph& graph, uint32_t function, const Trace& trace) {
  return sorted_arcs(graph, graph.functions[function].callees, false, trace);
}

std::vector<uint32_t> members_in_order(const CallGraph& graph, uint32_t cycle) {
  std::vector<uint32_t> members;
  for (uint32_t m = graph.functions[cycle].next_member; m != kNone; m = graph.functions[m].next_member)
    members.push_back(m);
  std::stable_sort(members.begin(), members.end(), [&](uint32_t left, uint32_t right) {
    const Function &a = graph.functions[left], &b = graph.functions[right];
    if (shown(a) != shown(b)) return shown(a) > shown(b);
    return a.calls + a.self_calls > b.calls + b.self_calls;
  });
  return members;
}

std::vector<uint32_t> by_name(const CallGraph& graph, bool unused) {
  std::vector<uint32_t> functions;
  for (uint32_t f = 0; f < graph.function_count; ++f)
    if (unused || graph.functions[f].calls != 0 || graph.functions[f].ticks != 0) functions.push_back(f);
  std::stable_sort(functions.begin(), functions.end(),
                   [&](uint32_t a, uint32_t b) { return graph.functions[a].name < graph.functions[b].name; });
  for (uint32_t c = graph.function_count; c < graph.functions.size(); ++c) functions.push_back(c);
  return functions;
}

}  // namespace prof::gprof
