#include "call_graph.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <utility>

#include "prof/model/tree/tree.h"

namespace prof::gprof {

uint32_t function_at(const std::vector<Function>& functions, size_t count, uint64_t address) {
  const auto end = functions.begin() + long(count);
  const auto after = std::upper_bound(functions.begin(), end, address,
                                      [](uint64_t a, const Function& function) { return a < function.address; });
  if (after == functions.begin() || address > std::prev(after)->end) return kNone;
  return uint32_t(after - functions.begin() - 1);
}

void add_arc(CallGraph& graph, uint32_t caller, uint32_t callee, uint64_t calls, bool is_estimate) {
  const auto [at, is_new] = graph.arc_of.try_emplace(uint64_t(caller) << 32 | callee, uint32_t(graph.arcs.size()));
  if (!is_new) {
    add_up(graph.arcs[at->second].calls, calls);
    graph.arcs[at->second].is_estimate |= is_estimate;
    return;
  }
  graph.functions[caller].callees.push_back(at->second);
  graph.functions[callee].callers.push_back(at->second);
  graph.arcs.push_back({caller, callee, calls, is_estimate});
}

namespace {

constexpr uint64_t kUnit = 2;  // bytes of code, in which gprof counts

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Lays histograms over functions.
class Spreading {
 public:
  Spreading(CallGraph& graph, const Selection& selection, const Trace& trace)
      : graph_(graph), selection_(selection), trace_(trace) {
    for (uint32_t f = 0; f < graph.function_count; ++f) starts_.push_back(graph.functions[f].address / kUnit);
  }

  void add(const GmonHistogram& histogram, const std::vector<uint64_t>& bins) {
    const uint64_t low = histogram.low / kUnit;
    for (size_t i = 0; i < bins.size(); ++i) {
      if (bins[i] == 0) continue;
      graph_.total_ticks += double(bins[i]);
      give(low + uint64_t(graph_.scale * double(i)), low + uint64_t(graph_.scale * double(i + 1)), double(bins[i]));
    }
  }

 private:
  // All in units. The last function is never reached: see call_graph.h.
  void give(uint64_t low, uint64_t high, double ticks) {
    const auto first = std::upper_bound(starts_.begin(), starts_.end(), low);
    size_t f = first == starts_.begin() ? 0 : size_t(first - starts_.begin()) - 1;
    for (; f + 1 < starts_.size() && high >= starts_[f]; ++f) {
      const uint64_t begin = std::max(low, starts_[f]), end = std::min(high, starts_[f + 1]);
      if (begin < end) credit(uint32_t(f), double(end - begin) * ticks / graph_.scale);
    }
  }

  void credit(uint32_t f, double ticks) {
    if (!selection_.flat.holds(f)) {
      graph_.total_ticks -= ticks;
      return;
    }
    Function& function = graph_.functions[f];
    function.ticks += ticks;
    if (trace_.has(Trace::samples))
      trace_.print(line("[samples] %f ticks to %.400s at 0x%" PRIx64, ticks, function.name.c_str(), function.address));
  }

  CallGraph& graph_;
  const Selection& selection_;
  const Trace& trace_;
  std::vector<uint64_t> starts_;  // of functions, in units
};

void add_histograms(CallGraph& graph, const Gmon& gmon, const Selection& selection, const Trace& trace) {
  if (gmon.histograms.empty()) return;
  const GmonHistogram& first = gmon.histograms[0];
  graph.has_histogram = true;
  graph.rate = first.rate;
  graph.dimension = first.dimension;
  graph.abbreviation = first.abbreviation;
  const uint64_t units = (first.high - first.low) / kUnit;
  graph.scale = first.bins.empty() ? 0 : double(units) / double(first.bins.size());

  // Those of the same range are added up before anything is rounded.
  std::map<std::pair<uint64_t, uint64_t>, size_t> at;
  std::vector<std::pair<const GmonHistogram*, std::vector<uint64_t>>> ranges;
  for (const GmonHistogram& histogram : gmon.histograms) {
    const auto [place, is_new] = at.try_emplace({histogram.low, histogram.high}, ranges.size());
    if (is_new) {
      ranges.emplace_back(&histogram, histogram.bins);
      continue;
    }
    std::vector<uint64_t>& bins = ranges[place->second].second;
    bins.resize(std::max(bins.size(), histogram.bins.size()));
    for (size_t i = 0; i < histogram.bins.size(); ++i) bins[i] += histogram.bins[i];
  }
  Spreading spreading(graph, selection, trace);
  for (const auto& [histogram, bins] : ranges) spreading.add(*histogram, bins);
}

void add_calls(CallGraph& graph, const Gmon& gmon, const Selection& selection, const Trace& trace) {
  graph.has_arcs = !gmon.arcs.empty();
  for (const GmonArc& arc : gmon.arcs) {
    const uint32_t caller = function_at(graph.functions, graph.function_count, arc.from);
    uint32_t callee = function_at(graph.functions, graph.function_count, arc.to);
    if (caller == kNone || callee == kNone) continue;
    // Calls lead to functions: what is at a label or a line of the source is of the function that it is in.
    while (callee > 0 && !graph.functions[callee].is_function) --callee;
    if (!graph.functions[callee].is_function) continue;
    if (selection.keeps_arc && !selection.keeps_arc(caller, callee)) continue;
    if (trace.has(Trace::tally))
      trace.print(line("[tally] %.200s called %.200s %" PRIu64 " times", graph.functions[caller].name.c_str(),
                       graph.functions[callee].name.c_str(), arc.calls));
    add_up(graph.functions[callee].calls, arc.calls);
    add_arc(graph, caller, callee, arc.calls, arc.is_estimate);
  }
}

}  // namespace

CallGraph call_graph_of(std::vector<Function> functions, const Gmon& gmon, const Selection& selection,
                        const Trace& trace) {
  CallGraph graph;
  graph.functions = std::move(functions);
  graph.function_count = uint32_t(graph.functions.size());
  add_calls(graph, gmon, selection, trace);
  add_histograms(graph, gmon, selection, trace);
  return graph;
}

void leave_out_runtime(const std::vector<Function>& functions, Selection& selection) {
  constexpr std::array<const char*, 8> kNames = {"_gprof_mcount",     "mcount",     "_mcount",  "__mcount",
                                                 "__mcount_internal", "__mcleanup", "<locore>", "<hicore>"};
  for (uint32_t f = 0; f < functions.size(); ++f) {
    if (std::find(kNames.begin(), kNames.end(), functions[f].name) == kNames.end()) continue;
    selection.flat.leave_out(f);
    selection.graph.leave_out(f);
    selection.time.leave_out(f);
  }
}

}  // namespace prof::gprof
