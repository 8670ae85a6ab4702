#include "cycles.h"

#include <numeric>
#include <utility>

namespace prof::gprof {

namespace {

// One way through the graph, depth first.
class Numbering {
 public:
  Numbering(CallGraph& graph, const Trace& trace)
      : graph_(graph),
        trace_(trace),
        head_(graph.function_count),
        last_(graph.function_count),
        place_(graph.function_count, kNone) {
    std::iota(head_.begin(), head_.end(), 0);
    std::iota(last_.begin(), last_.end(), 0);
    for (Function& function : graph.functions) {
      function.order = 0;
      function.next_member = kNone;
    }
  }

  // Numbers the function and all that can be reached from it, unless it has a number.
  void go_from(uint32_t start) {
    if (function(start).order != 0) return;
    enter(start);
    while (!way_.empty()) {
      Step& step = way_.back();
      if (step.arcs_left == 0) {
        leave();
        continue;
      }
      const uint32_t callee = graph_.arcs[function(step.function).callees[--step.arcs_left]].callee;
      if (function(callee).order != 0) continue;
      if (is_entered(callee))
        close_cycle(callee);
      else
        enter(callee);
    }
  }

  void set_heads() {
    for (uint32_t f = 0; f < graph_.function_count; ++f) graph_.functions[f].head = head_of(f);
  }

 private:
  struct Step {
    uint32_t function;
    size_t arcs_left;  // those not gone along yet, the first ones of the list
  };

  Function& function(uint32_t f) { return graph_.functions[f]; }

  // Of those without a number: those on the way, and members of a cycle whose head is on it.
  bool is_entered(uint32_t f) { return place_[f] != kNone || head_of(f) != f; }

  uint32_t head_of(uint32_t f) {
    uint32_t head = f;
    while (head_[head] != head) head = head_[head];
    while (head_[f] != head) f = std::exchange(head_[f], head);
    return head;
  }

  void enter(uint32_t f) {
    if (trace_.has(Trace::numbering))
      trace_.print("[numbering] enters " + function(f).name + ", depth " + std::to_string(way_.size() + 1));
    place_[f] = uint32_t(way_.size());
    way_.push_back({f, function(f).callees.size()});
  }

  // The top of the way calls `callee', which is further up, or belongs to a cycle whose head is.
  void close_cycle(uint32_t callee) {
    const uint32_t top = place_[callee] != kNone ? place_[callee] : place_[head_of(callee)];
    if (top + 1 == way_.size()) return;  // a function that calls itself
    const uint32_t head = head_of(way_[top].function);
    uint32_t last = last_[head];
    for (size_t i = top + 1; i < way_.size(); ++i) {
      const uint32_t member = way_[i].function;
      if (head_of(member) != member) continue;  // it is in this cycle already
      if (trace_.has(Trace::numbering | Trace::cycles))
        trace_.print("[numbering] " + function(member).name + " is in a cycle with " + function(head).name);
      function(last).next_member = member;
      head_[member] = head;
      last = last_[member];
    }
    last_[head] = last;
  }

  void leave() {
    const uint32_t f = way_.back().function;
    if (head_of(f) == f) {
      ++numbers_;
      for (uint32_t member = f; member != kNone; member = function(member).next_member) {
        function(member).order = numbers_;
        if (trace_.has(Trace::numbering))
          trace_.print("[numbering] " + function(member).name + " has number " + std::to_string(numbers_));
      }
    }
    place_[f] = kNone;
    way_.pop_back();
  }

  CallGraph& graph_;
  const Trace& trace_;
  std::vector<Step> way_;        // from the start to where it is now
  std::vector<uint32_t> head_;   // of the cycle: by steps, a set's members lead to its head (union-find)
  std::vector<uint32_t> last_;   // by head: the last member
  std::vector<uint32_t> place_;  // on the way; kNone: not on it
  uint32_t numbers_ = 0;
};

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
  Numbering numbering(graph, trace);
  for (uint32_t f = 0; f < graph.function_count; ++f) numbering.go_from(f);
  numbering.set_heads();
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
