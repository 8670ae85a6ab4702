#include "measured.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "assemble.h"
#include "prof/model/tree/tree.h"

namespace prof::gprof {

namespace {

// Functions, arcs and cycles of an analysis. Own times and calls are there; times of arcs are not.
class TreeGraph {
 public:
  explicit TreeGraph(const Analysis& analysis) : analysis_(analysis) {
    graph_.is_measured = true;
    graph_.rate = analysis.rate();
    if (!analysis.has_hooks() && analysis.sampled)
      graph_.sample = double(analysis.sampled->period) * 1e-9 * graph_.rate;
    graph_.has_histogram = graph_.has_arcs = true;
    add_functions();
    add_arcs();
    count_self_calls(graph_);
    number_functions(graph_);
    link_cycles(graph_);
  }

  // With the times of the tree.
  CallGraph measured() && {
    measure_arcs();
    for (uint32_t f = 0; f < analysis_.sums.size(); ++f) set_times(at_[f], analysis_.sums[f].total);
    for (uint32_t c = graph_.function_count; c < graph_.functions.size(); ++c) {
      Function& whole = graph_.functions[c];
      for (uint32_t m = whole.next_member; m != kNone; m = graph_.functions[m].next_member)
        whole.ticks += graph_.functions[m].ticks;
      set_times(c, cycle_totals_[c - graph_.function_count]);
    }
    graph_.shown_ticks = graph_.total_ticks;
    order_entries(graph_);
    return std::move(graph_);
  }

  MeasuredAndPropagated both() && {
    // Who looks arcs up by their ends is done with the copy, and a table of millions takes long to copy.
    auto arc_of = std::exchange(graph_.arc_of, {});
    CallGraph propagated = graph_;
    graph_.arc_of = std::move(arc_of);
    propagate(propagated);
    return {std::move(*this).measured(), std::move(propagated)};
  }

 private:
  // In order of address, as gprof has them, one object after the other; after them what stands for unknown callers.
  void add_functions() {
    const std::vector<prof::Function>& functions = analysis_.functions.functions();
    std::vector<uint32_t> order(analysis_.sums.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(functions[a].object, functions[a].address) <
             std::pair(functions[b].object, functions[b].address);
    });
    at_.resize(order.size());
    for (const uint32_t f : order) {
      at_[f] = uint32_t(graph_.functions.size());
      Function function;
      function.address = function.end = functions[f].address;
      function.name = function.printed = analysis_.functions.name_with_module(functions[f]);
      function.ticks = double(analysis_.sums[f].self);
      function.has_calls = analysis_.counts_calls_of(f);
      graph_.total_ticks += function.ticks;
      graph_.functions.push_back(std::move(function));
    }
    Function outside;
    outside.name = outside.printed = "<spontaneous>";
    outside.is_outside = true;
    outside.is_printed = false;
    graph_.functions.push_back(std::move(outside));
    graph_.function_count = uint32_t(graph_.functions.size());
  }

  uint32_t caller_of(const CallNode& node) const {
    return node.parent == 0 ? graph_.function_count - 1 : at_[analysis_.tree.nodes[node.parent].function];
  }

  void add_arcs() {
    const std::vector<CallNode>& nodes = analysis_.tree.nodes;
    struct Calls {
      uint64_t ends;  // caller << 32 | callee
      uint64_t number;
      bool is_estimate;
    };
    std::vector<Calls> calls;
    calls.reserve(nodes.size());
    for (size_t i = 1; i < nodes.size(); ++i) {
      const uint32_t callee = at_[nodes[i].function];
      calls.push_back({uint64_t(caller_of(nodes[i])) << 32 | callee, nodes[i].calls, nodes[i].has_estimated_calls});
      add_up(graph_.functions[callee].calls, nodes[i].calls);
    }
    std::ranges::sort(calls, {}, &Calls::ends);
    size_t arcs = 0;
    for (size_t i = 0; i < calls.size(); ++i) arcs += i == 0 || calls[i].ends != calls[i - 1].ends;
    graph_.arcs.reserve(arcs);
    graph_.arc_of.reserve(arcs);
    for (const Calls& c : calls) add_arc(graph_, uint32_t(c.ends >> 32), uint32_t(c.ends), c.number, c.is_estimate);
    // Contexts have shares of what was counted of a caller. Their sum is that, if there is no call through a pointer in
    // it.
    std::map<uint64_t, uint64_t> counted;
    for (const CountedArc& arc : analysis_.arcs)
      add_up(counted[uint64_t(at_[arc.caller]) << 32 | at_[arc.callee]], arc.calls);
    for (const auto& [ends, number] : counted)
      if (const auto arc = graph_.arc_of.find(ends); arc != graph_.arc_of.end())
        graph_.arcs[arc->second].is_estimate &= graph_.arcs[arc->second].calls != number;
  }

  // See measured.h for what counts where.
  void measure_arcs() {
    const std::vector<CallNode>& nodes = analysis_.tree.nodes;
    std::vector<uint32_t> depth(graph_.functions.size());  // how many calls of a function or cycle are running
    std::vector<uint32_t> outermost(graph_.functions.size(), kNone);  // the arc that led to the first of them
    std::vector<double> inclusive(graph_.arcs.size());
    cycle_totals_.resize(graph_.cycle_count());
    const auto enter = [&](uint32_t i, uint32_t) {
      const CallNode& node = nodes[i];
      const uint32_t callee = at_[node.function], head = graph_.functions[callee].head;
      if (depth[callee]++ == 0) {
        outermost[callee] = graph_.arc_of.at(uint64_t(caller_of(node)) << 32 | callee);
        inclusive[outermost[callee]] += double(node.total);
      }
      if (head != callee && depth[head]++ == 0) add_up(cycle_totals_[head - graph_.function_count], node.total);
      graph_.arcs[outermost[callee]].ticks += double(node.self);
    };
    const auto leave = [&](uint32_t i) {
      const uint32_t callee = at_[nodes[i].function], head = graph_.functions[callee].head;
      --depth[callee];
      if (head != callee) --depth[head];
    };
    walk(analysis_.tree, enter, leave);
    for (size_t a = 0; a < graph_.arcs.size(); ++a)
      graph_.arcs[a].child_ticks = std::max(0.0, inclusive[a] - graph_.arcs[a].ticks);
  }

  void set_times(uint32_t f, uint64_t total) {
    Function& function = graph_.functions[f];
    function.fraction = 1;
    function.self_shown = function.ticks;
    function.child_ticks = function.children_shown = std::max(0.0, double(total) - function.ticks);
  }

  const Analysis& analysis_;
  CallGraph graph_;
  std::vector<uint32_t> at_;            // by function of the analysis: its index in the graph
  std::vector<uint64_t> cycle_totals_;  // cycles of the clock, by cycle of functions
};

}  // namespace

CallGraph measured_graph(const Analysis& analysis) { return TreeGraph(analysis).measured(); }

MeasuredAndPropagated measured_and_propagated_graph(const Analysis& analysis) { return TreeGraph(analysis).both(); }

}  // namespace prof::gprof
