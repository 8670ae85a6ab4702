// What the profiles of one program recorded, put together: its functions, the tree of their calls, their sums, its blocks; and
// what kind of figures these are. An Analysis (analysis.h) is that, and what there is to tell of it.

#ifndef PROF_MODEL_TREE_RECORDED_H
#define PROF_MODEL_TREE_RECORDED_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "block_counts.h"
#include "contexts.h"
#include "histogram.h"
#include "linker-rewrite/names/pattern.h"
#include "prof/model/program/functions.h"
#include "prof/read/clock.h"
#include "prof/read/debug_info.h"
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
  bool timed = true;              // false: calls were counted, not timed, and all cycles are 0
  bool estimated = false;         // times are estimates from samples
  bool by_samples = false;        // PROFTYPE=sample: times are those of samples of the same run
  bool is_gmon = false;           // it is of files gmon.out: total times and contexts are estimates (gmon_reading.h)
  bool has_hooks = true;          // false: calls were not counted, and times are those of samples
  bool on_processor = false;      // times are those on a processor, without waiting
  bool has_waiting = false;       // what was waited is shown apart from them
  double tsc_hz = 0;              // 0 if unknown
  RunTimes run_times = {};
  uint64_t sample_period = 0;  // of PROFTYPE=sample: nanoseconds that a sample stands for
  // By object and address, which instructions samples found: of PROFTYPE=sample, or of a file of samples.
  std::vector<AddressSamples> histogram = {};
  // Another run, with its times on a processor: all else is of the run with elapsed times, or of both.
  std::optional<ProcessorRun> cpu = {};
  // Only functions of modules that match one of these are to be shown; all if it is empty.
  std::vector<std::string> module_patterns = {};
  // By function: where it stands in the source, and what was inlined into it. Empty unless that was asked for.
  std::vector<FunctionSource> sources = {};
  // Of these, only those that it selects.
  prof_names::Filter function_filter = {};
  // Times are those of samples, and this is what is known of them.
  std::optional<SampledTimes> sampled = {};
  // The contexts that are left, if they are not all, and calls and self times of all of them: what percentages are of.
  ContextSelection contexts = {};
  std::optional<FunctionSum> whole = {};
  // Executions of basic blocks, by object and address; empty unless the program was rewritten with profld -b.
  std::vector<BlockCount> blocks = {};
  uint32_t caller_levels = 0;  // of a tree of callers that was cut off (CallersTree in contexts.h): how deep it is

  // Of PROFTYPE=sample.
  double cycles_of_sample() const { return double(sample_period) * 1e-9 * rate(); }
  // Cycles in a second, to compute with.
  double rate() const { return rate_or_default(tsc_hz); }
  double seconds(double cycles) const { return cycles / rate(); }
  double seconds(uint64_t cycles) const { return seconds(double(cycles)); }
};

// What was measured, in one word: the PROFTYPE; "waiting" of two runs with elapsed times and those on a processor, "true"
// of samples that were taken from outside, "gmon" of files gmon.out, "addresses" of samples of a program without hooks.
const char* type_name(const Recorded& recorded);

// Whether there is anything to tell of a function.
bool occurs(const Recorded& recorded, uint32_t function);

}  // namespace prof

#endif
