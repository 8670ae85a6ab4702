// Everything the views show: profiles, symbols and the tree, read and put together.

#ifndef PROF_MODEL_ANALYSIS_H
#define PROF_MODEL_ANALYSIS_H

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "address_samples.h"
#include "block_counts.h"
#include "context_selection.h"
#include "functions.h"
#include "linker-rewrite/names/pattern.h"
#include "part_times.h"
#include "prof/read/debug_info.h"
#include "run_times.h"
#include "sampled.h"
#include "tree.h"
#include "waiting.h"

namespace prof {

// What is shown apart, and not added up: the profiles of processes, or the threads in each.
enum class Apart { nothing, processes, threads };

struct Input {
  std::string program;                            // "": the one that the profile names
  std::vector<std::string> profiles;              // at least one; or files gmon.out, of the program, which is named
  bool raw_names = false;                         // names as in the symbol table
  bool raw_times = false;                         // the probe's own cost is left in
  bool remarks = true;                            // on what is not complete; damage is always remarked on
  bool side_by_side = false;                      // profiles may be of both types elapsed and cpu
  std::vector<std::string> module_patterns = {};  // as of fnmatch(3): shown is what matches one of them; all if empty
  std::string samples = {};  // a file of samples of the unprofiled program, which times are taken from
  DebugSearch debug_files = {};
  bool sources = false;      // where functions stand in the source, and what was inlined into them
  bool whole_names = false;  // demangled names are not simplified
  // Shown are functions that match one of the former, or all if there are none, and none of the latter.
  std::vector<std::string> function_patterns = {}, not_function_patterns = {};
  ContextSelection contexts = {};
  bool may_list_inlined = true;                            // the view has prof --inlined, which a remark can name
  std::map<std::string, std::string> gmon_libraries = {};  // of files gmon.out that are of a library: the path of that
};

struct Analysis {
  Tree tree;
  FunctionTable functions;
  std::vector<FunctionSum> sums;  // one for each of functions.functions()
  std::string program;            // path
  bool timed = true;              // false: calls were counted, not timed, and all cycles are 0
  bool estimated = false;         // times are estimates from samples
  bool by_samples = false;        // PROFTYPE=sample: times are those of samples of the same run
  bool is_gmon = false;           // it is of files gmon.out: total times and contexts are estimates (gmon_analysis.h)
  bool has_hooks = true;          // false: calls were not counted, and times are those of samples
  bool on_processor = false;      // times are those on a processor, without waiting
  bool has_waiting = false;       // what was waited is shown apart from them
  double tsc_hz = 0;              // 0 if unknown
  bool complete = true;           // all programs ended by themselves, and all of their profiles could be read
  bool damaged = false;           // part of a profile could not be read; a remark tells
  uint64_t lost = 0;              // calls that are in no node
  uint64_t folded = 0;            // contexts that were folded onto others
  double probe = 0;               // cycles that a pair of hooks adds to a call, as measured; 0 if unknown
  bool limited = false;           // recording was off, or began anew, for a part of a run
  double duration = 0;            // cycles for which each program ran and recording was on, added up
  RunTimes run_times = {};
  std::vector<std::string> profiles = {};  // paths of those that are added up, or that a part is of
  // Of PROFTYPE=sample: nanoseconds that a sample stands for, how many found the program in the hooks and are left out, and
  // how many signals brought all of them.
  uint64_t sample_period = 0, hook_samples = 0, sample_signals = 0;
  // By object and address, which instructions samples found: of PROFTYPE=sample, or of a file of samples. And how many found
  // no room there.
  std::vector<AddressSamples> histogram = {};
  uint64_t samples_without_room = 0;
  // Of analyse_apart: whose part this is. Else 0 and empty.
  uint32_t process = 0, parent_process = 0, thread = 0;
  std::string command = {}, thread_name = {};
  PartTimes part_times = {};
  // Another run, with its times on a processor: all else is of the run with elapsed times, or of both.
  std::optional<ProcessorRun> cpu = {};
  std::vector<std::string> remarks = {};  // what to tell the user of the profiles and their programs, a line each
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
  double cycles_of_sample() const { return double(sample_period) * 1e-9 * (tsc_hz > 0 ? tsc_hz : 1e9); }
  double seconds(uint64_t cycles) const { return double(cycles) / (tsc_hz > 0 ? tsc_hz : 1e9); }
};

// What was measured, in one word: the PROFTYPE; "waiting" of two runs with elapsed times and those on a processor, "true"
// of samples that were taken from outside, "gmon" of files gmon.out, "addresses" of samples of a program without hooks.
const char* type_name(const Analysis& analysis);

// Whether there is anything to tell of a function.
bool occurs(const Analysis& analysis, uint32_t function);

// Whether two profiles can be added up: one program, one type.
bool are_alike(const Profile& a, const Profile& b);

// Reads the profiles and sums them up, those of elapsed times and those of times on a processor apart. Throws Error if
// a file cannot be used, or if the profiles are not of one program, or of types that cannot be shown together.
Analysis analyse(const Input& input);

// The same for each part that is to be shown apart, one after the other; `show` is called with each, and with the
// remarks that are new. Returns false if something could not be read.
bool analyse_apart(const Input& input, Apart apart, const std::function<void(const Analysis&)>& show);

}  // namespace prof

#endif
