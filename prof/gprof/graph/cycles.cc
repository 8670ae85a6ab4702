#include "cycles.h"

#include <string>
#include <utility>
#include <vector>

#include "prof/model/tree/call_cycles.h"

namespace prof::gprof {

namespace {

// Counts calls from outside to the members of a cycle, and those among them.
void count_calls(CallGraph& graph, Function& cycle) {
  for (uint32_t m = cycle.next_member; m != kNone; m = graph.functions[m].next_member) {
    for (const uint32_t a : graph.functions[m].callers) {
      const Arc& arc = graph.arcs[a];
      if (arc.caller == m) continue;
      (graph.functions[arc.caller].cycle == cycle.cycle ? cycle.self_calls : cycle.calls) += arc.calls;
    }
  }
}

}  // namespace

void count_self_calls(CallGraph& graph) {
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    Function& function = graph.functions[f];
    const auto own = graph.arc_of.find(uint64_t(f) << 32 | f);
    function.self_calls = own == graph.arc_of.end() ? 0 : graph.arcs[own->second].calls;
    function.calls -= function.self_calls;
  }
}

void number_functions(CallGraph& graph, const Trace& trace) {
  const auto callees = [&](uint32_t f) -> const std::vector<uint32_t>& { return graph.functions[f].callees; };
  const auto name = [&](uint32_t f) { return graph.functions[f].name; };
  CallsToSearch calls;
  calls.functions = graph.function_count;
  calls.count = [&](uint32_t f) { return callees(f).size(); };
  // gprof's lists begin with the newest arc.
  calls.callee = [&](uint32_t f, size_t i) { return graph.arcs[callees(f)[callees(f).size() - 1 - i]].callee; };
  CallSearchSteps steps;
  if (trace.has(Trace::numbering)) {
    steps.enters = [&](uint32_t f, size_t depth) {
      trace.print("[numbering] enters " + name(f) + ", depth " + std::to_string(depth));
    };
    steps.numbers = [&](uint32_t f, uint32_t number) {
      trace.print("[numbering] " + name(f) + " has number " + std::to_string(number));
    };
  }
  if (trace.has(Trace::numbering | Trace::cycles))
    steps.joins = [&](uint32_t member, uint32_t head) {
      trace.print("[numbering] " + name(member) + " is in a cycle with " + name(head));
    };
  const CallCycles found = find_call_cycles(calls, steps);
  static_assert(kNone == CallCycles::kNone);
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    Function& function = graph.functions[f];
    function.order = found.numbers[f];
    function.head = found.heads[f];
    function.next_member = found.next[f];
  }
}

void link_cycles(CallGraph& graph, const Trace& trace) {
  uint32_t cycles = 0;
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    if (graph.functions[f].head != f || graph.functions[f].next_member == kNone) continue;
    const auto entry = uint32_t(graph.functions.size());
    Function cycle;
    cycle.cycle = ++cycles;
    cycle.head = entry;
    cycle.next_member = f;
    for (uint32_t m = f; m != kNone; m = graph.functions[m].next_member) {
      graph.functions[m].cycle = cycles;
      graph.functions[m].head = entry;
    }
    if (trace.has(Trace::cycles))
      trace.print("[cycles] " + graph.functions[f].name + " is the head of cycle " + std::to_string(cycles));
    count_calls(graph, cycle);
    graph.functions.push_back(std::move(cycle));
  }
}

}  // namespace prof::gprof
