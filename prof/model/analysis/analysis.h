// Everything the views show: profiles, symbols and the tree, read and put together.

#ifndef PROF_MODEL_ANALYSIS_ANALYSIS_H
#define PROF_MODEL_ANALYSIS_ANALYSIS_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "prof/model/tree/recorded.h"
#include "prof/model/tree/run_times.h"

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
  bool sources = false;       // where functions stand in the source, and what was inlined into them
  bool inlined_rows = false;  // inlined functions have rows of their own, if the times are those of prof run
  bool whole_names = false;   // demangled names are not simplified
  Listed blocks = Listed::all;
  // Shown are functions that match one of the former, or all if there are none, and none of the latter.
  std::vector<std::string> function_patterns = {}, not_function_patterns = {};
  ContextSelection contexts = {};
  bool durations = false;                                  // how long calls lasted
  bool may_list_inlined = true;                            // the view has prof --inlined, which a remark can name
  std::map<std::string, std::string> gmon_libraries = {};  // of files gmon.out that are of a library: the path of that
};

struct Analysis : Recorded {
  using Recorded::Recorded;

  bool complete = true;                    // all programs ended by themselves, and all of their profiles could be read
  bool damaged = false;                    // part of a profile could not be read; a remark tells
  uint64_t lost = 0;                       // calls that are in no node
  uint64_t folded = 0;                     // contexts that were folded onto others
  uint64_t lost_durations = 0;             // calls that have ended, and are in no durations
  double hook_cycles = 0;                  // that hooks took which left; of a run with others 0
  double probe = 0;                        // cycles that a pair of hooks adds to a call, as measured; 0 if unknown
  bool limited = false;                    // recording was off, or began anew, for a part of a run
  double duration = 0;                     // cycles for which each program ran and recording was on, added up
  std::vector<std::string> profiles = {};  // paths of those that are added up, or that a part is of
  // Of PROFTYPE=sample: how many samples found the program in the hooks and are left out, how many signals brought all
  // of them; and how many found no room in the histogram.
  uint64_t hook_samples = 0, sample_signals = 0, samples_without_room = 0;
  // Of analyse_apart: whose part this is. Else 0 and empty.
  uint32_t process = 0, parent_process = 0, thread = 0;
  std::string command = {}, thread_name = {};
  PartTimes part_times = {};
  std::vector<std::string> remarks = {};  // what to tell the user of the profiles and their programs, a line each

  // Which part of the time on processors hooks took that left, from 0 to 1. If it is more than kMostOfHooks, durations
  // are not known to a tenth.
  static constexpr double kMostOfHooks = 0.1;
  double hooks_part() const {
    const double all = run_times.processor ? *run_times.processor * rate() : duration;
    return all > 0 ? std::min(1.0, hook_cycles / all) : 0;
  }
};

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
