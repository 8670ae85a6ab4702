// What the profiles of one program recorded, put together: its functions, the tree of their calls, their sums, its
// blocks; and what kind of figures these are. An Analysis (analysis.h) is that, and what there is to tell of it.

#ifndef PROF_MODEL_TREE_RECORDED_H
#define PROF_MODEL_TREE_RECORDED_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "block_counts.h"
#include "contexts.h"
#include "figure_type.h"
#include "histogram.h"
#include "linker-rewrite/names/pattern.h"
#include "prof/model/program/functions.h"
#include "prof/read/clock.h"
#include "prof/read/debug_info.h"
#include "prof/read/durations.h"
#include "run_times.h"
#include "sampled.h"
#include "tree.h"
#include "waiting.h"

namespace prof {

struct Recorded {
  Recorded(FunctionTable of_functions, std::string of_program)
      : functions(std::move(of_functions)), program(std::move(of_program)) {}

  Tree tree;
  FunctionTable functions;
  std::vector<FunctionSum> sums;  // one for each of functions.functions()
  std::string program;            // path
  FigureType type = FigureType::elapsed;
  bool has_times = true;  // false: no sample was taken, so nothing is known of times, whatever the type
  double tsc_hz = 0;      // 0 if unknown
  RunTimes run_times = {};
  uint64_t sample_period = 0;  // of PROFTYPE=sample: nanoseconds that a sample stands for
  // By function, how long its calls lasted that have ended. Empty if no profile says so.
  std::vector<CallDurations> durations = {};
  // By object and address, which instructions samples found: of PROFTYPE=sample, or of a file of samples.
  std::vector<AddressSamples> histogram = {};
  // Of FigureType::waiting: the run with times on a processor. All else is of the run with elapsed times, or of both.
  std::optional<ProcessorRun> cpu = {};
  // Only functions of modules that match one of these are to be shown; all if it is empty.
  std::vector<std::string> module_patterns = {};
  // By function: where it stands in the source, and what was inlined into it. Empty unless that was asked for.
  std::vector<FunctionSource> sources = {};
  // Of these, only those that it selects.
  prof_names::Filter function_filter = {};
  // Of types with times from samples that were taken from outside: what is known of these.
  std::optional<SampledTimes> sampled = {};
  SelectedContexts contexts = {};
  // Executions of basic blocks, by object and address; empty unless the program was rewritten with profld -b.
  std::vector<BlockCount> blocks = {};
  WaysOn ways = {};  // between them
  // The same: what counting them took.
  CounterCosts counter_costs = {};
  // Of a run without hooks, whose blocks were counted: how often functions called others, but for calls through
  // pointers.
  std::vector<CountedArc> arcs = {};
  // The same: by function, how often it called through pointers at most; there may be jumps through tables among these.
  std::vector<uint64_t> indirect_calls = {};

  // Whether somebody counts the calls of a function.
  bool counts_calls_of(uint32_t function) const {
    return sampled ? bool(sampled->is_counted[function]) : functions.functions()[function].has_calls;
  }

  // Whether the total time of a function is known.
  bool has_total_of(uint32_t function) const {
    return timed() && (is_gmon() || (has_hooks() ? counts_calls_of(function) : has_contexts()));
  }

  // As in FigureProperties.
  const FigureProperties& properties() const { return properties_of(type); }
  bool timed() const { return properties().timed && has_times; }
  bool estimated() const { return properties().estimated; }
  bool by_samples() const { return properties().by_samples; }
  bool has_hooks() const { return properties().has_hooks; }
  bool on_processor() const { return properties().on_processor; }
  bool has_waiting() const { return properties().has_waiting; }
  bool has_contexts() const { return has_hooks() || (sampled && sampled->has_chains()); }
  bool by_two_runs() const { return properties().by_two_runs; }
  bool from_outside() const { return properties().from_outside; }
  bool is_gmon() const { return properties().is_gmon; }

  // Of PROFTYPE=sample.
  double cycles_of_sample() const { return double(sample_period) * 1e-9 * rate(); }
  // Cycles in a second, to compute with.
  double rate() const { return rate_or_default(tsc_hz); }
  double seconds(double cycles) const { return cycles / rate(); }
  double seconds(uint64_t cycles) const { return seconds(double(cycles)); }
};

// What is known of the samples of the histogram; a copy.
inline SampledTimes sampled_times_of(const Recorded& recorded) {
  return recorded.sampled ? *recorded.sampled : SampledTimes{.period = recorded.sample_period};
}

// Whether there is anything to tell of a function.
inline bool occurs(const Recorded& recorded, uint32_t f) {
  // Of a gmon.out it may be known that a function called others, and no more.
  auto is_any = [&](const FunctionSum& sum) {
    return sum.calls != 0 || sum.self != 0 || sum.self_waiting != 0 || (recorded.is_gmon() && sum.total != 0);
  };
  return is_any(recorded.sums[f]) || (recorded.cpu && is_any(recorded.cpu->sums[f]));
}

}  // namespace prof

#endif
