#include "assemble.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
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

namespace {

// Functions from those that call nothing up to their callers.
std::vector<uint32_t> topological_order(const CallGraph& graph) {
  std::vector<uint32_t> order(graph.function_count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return graph.functions[a].order < graph.functions[b].order; });
  return order;
}

class Propagation {
 public:
  Propagation(CallGraph& graph, const Selection& selection, const Trace& trace)
      : graph_(graph), selection_(selection), trace_(trace), order_(topological_order(graph)) {}

  void pass_flags_down() {
    graph_.shown_ticks = 0;
    uint32_t done = kNone;
    for (size_t i = order_.size(); i-- > 0;) {
      Function& f = graph_.functions[order_[i]];
      // Members of a cycle stand one after the other, and inherit together.
      if (std::exchange(done, f.head) != f.head) graph_.is_cycle(f.head) ? inherit_cycle(f.head) : inherit(order_[i]);
      choose(order_[i]);
      f.self_shown = f.ticks * f.fraction;
      graph_.shown_ticks += f.self_shown;
      if (trace_.has(Trace::propagation))
        say("[propagation] %.300s: %s, fraction %f, shows %f of %f ticks", f.name.c_str(),
            f.is_printed ? "printed" : "not printed", f.fraction, f.self_shown, f.ticks);
    }
  }

  void pass_times_up() {
    add_up_cycles();
    for (const uint32_t f : order_) gather(f);
  }

 private:
  template <class... Values>
  void say(const char* format, Values... values) {
    char text[1024];
    std::snprintf(text, sizeof text, format, values...);
    trace_.print(text);
  }

  // gprof's lists of arcs begin with the newest, and sums of floating-point numbers depend on the order.
  template <class Use>
  void for_callers(uint32_t f, Use use) {
    const std::vector<uint32_t>& callers = graph_.functions[f].callers;
    for (size_t i = callers.size(); i-- > 0;) use(graph_.arcs[callers[i]]);
  }

  static void take_part(Function& to, const Function& caller, const Arc& arc) {
    to.is_printed = to.is_printed || caller.is_printed;
    if (to.calls != 0) to.fraction += caller.fraction * (double(arc.calls) / double(to.calls));
  }

  void inherit(uint32_t f) {
    Function& function = graph_.functions[f];
    function.is_printed = false;
    function.fraction = 0;
    for_callers(f, [&](const Arc& arc) {
      if (arc.caller != f) take_part(function, graph_.functions[arc.caller], arc);
    });
  }

  void inherit_cycle(uint32_t cycle) {
    Function& whole = graph_.functions[cycle];
    whole.is_printed = false;
    whole.fraction = 0;
    for (uint32_t m = whole.next_member; m != kNone; m = graph_.functions[m].next_member)
      for_callers(m, [&](const Arc& arc) {
        if (graph_.functions[arc.caller].head != cycle) take_part(whole, graph_.functions[arc.caller], arc);
      });
    for (uint32_t m = whole.next_member; m != kNone; m = graph_.functions[m].next_member) {
      graph_.functions[m].is_printed = whole.is_printed;
      graph_.functions[m].fraction = whole.fraction;
    }
  }

  // What the user chose goes before what was inherited.
  void choose(uint32_t f) {
    Function& function = graph_.functions[f];
    const Choice &graph = selection_.graph, &time = selection_.time;
    if (!function.is_printed)
      function.is_printed = graph.holds(f);
    else if (!graph.is_taken(f) && graph.is_left_out(f))
      function.is_printed = false;
    if (function.fraction == 0)
      function.fraction = time.holds(f) ? 1 : 0;
    else if (!time.is_taken(f) && time.is_left_out(f))
      function.fraction = 0;
  }

  void add_up_cycles() {
    for (uint32_t c = graph_.function_count; c < graph_.functions.size(); ++c) {
      Function& whole = graph_.functions[c];
      for (uint32_t m = whole.next_member; m != kNone; m = graph_.functions[m].next_member)
        if (graph_.functions[m].fraction != 0) whole.ticks += graph_.functions[m].ticks;
      whole.self_shown = whole.fraction * whole.ticks;
    }
  }

  void gather(uint32_t caller) {
    const Function& f = graph_.functions[caller];
    if (f.fraction == 0) return;
    for (size_t i = f.callees.size(); i-- > 0;) gather_along(graph_.arcs[f.callees[i]]);
  }

  void gather_along(Arc& arc) {
    Function& caller = graph_.functions[arc.caller];
    const Function& callee = graph_.functions[arc.callee];
    if (arc.calls == 0 || graph_.is_within_cycle(arc) || callee.fraction == 0) return;
    const Function& from = graph_.functions[callee.head];  // its cycle as a whole, or itself
    if (from.calls == 0) return;
    const double part = double(arc.calls) / double(from.calls);
    arc.ticks = from.ticks * part;
    arc.child_ticks = from.child_ticks * part;
    const double share = arc.ticks + arc.child_ticks;
    caller.child_ticks += share;
    const double shown = caller.fraction * share;
    caller.children_shown += shown;
    arc.ticks *= caller.fraction;
    arc.child_ticks *= caller.fraction;
    if (graph_.is_cycle(caller.head)) {
      graph_.functions[caller.head].child_ticks += share;
      graph_.functions[caller.head].children_shown += shown;
    }
    if (trace_.has(Trace::propagation))
      say("[propagation] %.300s gets %f ticks of %.300s, %f of its calls", caller.name.c_str(), share,
          callee.name.c_str(), part);
  }

  CallGraph& graph_;
  const Selection& selection_;
  const Trace& trace_;
  std::vector<uint32_t> order_;
};

}  // namespace

void propagate_flags(CallGraph& graph, const Selection& selection, const Trace& trace) {
  Propagation(graph, selection, trace).pass_flags_down();
}

void propagate(CallGraph& graph, const Selection& selection, const Trace& trace) {
  Propagation propagation(graph, selection, trace);
  propagation.pass_flags_down();
  propagation.pass_times_up();
}

void assemble(CallGraph& graph, const Selection& selection, const Trace& trace) {
  if (!graph.has_arcs) return;
  count_self_calls(graph);
  number_functions(graph, trace);
  link_cycles(graph, trace);
  propagate(graph, selection, trace);
  order_entries(graph);
}

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
