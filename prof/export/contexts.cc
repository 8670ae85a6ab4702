#include "contexts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "libprof/printable.h"
#include "prof/model/tree/tree.h"

namespace prof {

namespace {

// Makes the numbers of contexts out of those of nodes.
class Rounding {
 public:
  Rounding(const Analysis& analysis, const std::vector<Measure>& measures)
      : analysis_(analysis), measures_(measures), sums_(analysis.functions.functions().size()) {}

  // Calls or cycles of a context of a function, in the order of the measures; to be called once for each context.
  Values operator()(uint32_t function, const Values& raw) {
    Values rounded = {};
    for (size_t m = 0; m < measures_.size(); ++m) {
      if (measures_[m] == Measure::calls) {
        rounded[m] = raw[m];
        continue;
      }
      uint64_t& sum = sums_[function][m];
      const uint64_t before = nanoseconds(analysis_, sum);
      add_up(sum, raw[m]);
      rounded[m] = nanoseconds(analysis_, sum) - before;
    }
    return rounded;
  }

 private:
  const Analysis& analysis_;
  const std::vector<Measure>& measures_;
  std::vector<Values> sums_;  // by function; cycles
};

// The contexts that are too deep, summed up by function in the order in which they came.
class Depths {
 public:
  void add(uint32_t function, const Values& self) {
    const auto [at, is_new] = index_.try_emplace(function, sums_.size());
    if (is_new) sums_.push_back({function, kDeepest + 1, {}});
    Values& sum = sums_[at->second].self;
    for (size_t m = 0; m < sum.size(); ++m) add_up(sum[m], self[m]);
  }

  // Moves them after the others.
  void flush(std::vector<Context>& contexts) {
    if (sums_.empty()) return;
    contexts.push_back({Context::kBetween, kDeepest, {}});
    contexts.insert(contexts.end(), sums_.begin(), sums_.end());
    sums_.clear();
    index_.clear();
  }

 private:
  std::vector<Context> sums_;
  std::unordered_map<uint32_t, size_t> index_;
};

}  // namespace

std::vector<Measure> measures_of(const Analysis& analysis) {
  if (!analysis.timed()) return {Measure::calls};
  if (analysis.by_two_runs()) return {Measure::time, Measure::processor, Measure::calls};
  if (analysis.has_waiting()) return {Measure::time, Measure::waiting, Measure::calls};
  return {Measure::time, Measure::calls};
}

const char* name_of(Measure measure, const Analysis& analysis) {
  switch (measure) {
    case Measure::calls:
      return "calls";
    case Measure::processor:
      return "cpu";
    case Measure::waiting:
      return "waiting";
    case Measure::time:
      break;
  }
  return analysis.by_two_runs() ? "elapsed" : "time";
}

uint64_t self_of(const Analysis& analysis, Measure measure, size_t node) {
  const CallNode& n = analysis.tree.nodes[node];
  switch (measure) {
    case Measure::calls:
      return n.calls;
    case Measure::processor:
      return analysis.cpu->tree.nodes[node].self;
    case Measure::waiting:
      return n.self_waiting;
    case Measure::time:
      break;
  }
  return n.self;
}

std::vector<Values> self_without_nodes(const Analysis& analysis, const std::vector<Measure>& measures) {
  std::vector<Values> self(analysis.functions.functions().size());
  const auto time = std::find(measures.begin(), measures.end(), Measure::time);
  if (!analysis.from_outside() || time == measures.end()) return self;
  const auto m = size_t(time - measures.begin());
  for (size_t f = 0; f < analysis.sums.size(); ++f) self[f][m] = analysis.sums[f].self;
  for (size_t i = 1; i < analysis.tree.nodes.size(); ++i)
    if (analysis.tree.nodes[i].self != 0) self[analysis.tree.nodes[i].function] = {};
  return self;
}

uint64_t nanoseconds(const Analysis& analysis, uint64_t cycles) {
  return uint64_t(std::llround(std::min(analysis.seconds(cycles) * 1e9, 0x1p62)));
}

std::vector<Context> contexts_of(const Analysis& analysis, const std::vector<Measure>& measures) {
  std::vector<Context> contexts;
  contexts.reserve(analysis.tree.nodes.size());
  Rounding rounded(analysis, measures);
  Depths deeper;
  auto enter = [&](uint32_t node, uint32_t level) {
    const uint32_t function = analysis.tree.nodes[node].function;
    Values raw = {};
    for (size_t m = 0; m < measures.size(); ++m) raw[m] = self_of(analysis, measures[m], node);
    const Values self = rounded(function, raw);
    if (level >= kDeepest) return deeper.add(function, self);
    deeper.flush(contexts);
    contexts.push_back({function, level, self});
  };
  walk(analysis.tree, enter, [](uint32_t) {});
  deeper.flush(contexts);
  const std::vector<Values> others = self_without_nodes(analysis, measures);
  for (uint32_t f = 0; f < others.size(); ++f)
    if (others[f] != Values{}) contexts.push_back({f, 0, rounded(f, others[f])});
  return contexts;
}

std::string printed_name(const Analysis& analysis, uint32_t function) {
  if (function == Context::kBetween) return kNameBetween;
  return prof_text::printable(analysis.functions.name_with_module(analysis.functions.functions()[function]));
}

std::string part_name(const Analysis& part) {
  if (part.process == 0) return "";
  using prof_text::printable;
  const std::string process = "process " + std::to_string(part.process);
  if (part.thread == 0) return process + " " + printable(part.command);
  return process + ", thread " + std::to_string(part.thread) + " " + printable(part.thread_name);
}

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
