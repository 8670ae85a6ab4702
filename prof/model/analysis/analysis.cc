#include "analysis.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "prof/model/blocks/call_sites.h"
#include "prof/model/gmon/gmon_reading.h"
#include "prof/model/program/debug_files.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/model/tree/block_counts.h"
#include "prof/model/tree/completeness.h"
#include "prof/model/tree/contexts.h"
#include "prof/model/tree/histogram.h"
#include "prof/model/tree/inlined_rows.h"
#include "prof/model/tree/recorded.h"
#include "prof/read/clock.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/gmon_file.h"
#include "prof/read/header.h"

namespace prof {

namespace {

// What debug files and debug information tell of functions, and what they would if they were there.

// A debug file as it is short: without the folder where all are, and of its build-id as much as tells it from others,
// as a pattern of the shell's: ".build-id/34/e61424*.debug".
std::string short_path(const std::string& path) {
  constexpr std::string_view kUsual = "/usr/lib/debug/", kById = ".build-id/", kEnd = ".debug";
  constexpr size_t kDigits = 9;  // with a slash: "34/e61424"
  std::string text = path.starts_with(kUsual) ? path.substr(kUsual.size()) : path;
  const size_t at = text.find(kById), id = at + kById.size();
  if (at != std::string::npos && text.ends_with(kEnd) && text.size() > id + kDigits + kEnd.size())
    text.replace(id + kDigits, text.size() - kEnd.size() - id - kDigits, "*");
  return text;
}

// What to tell the user, in a line that a terminal has room for: which modules were stripped, so that functions that
// were called are shown by their addresses; which debug file was looked for; and what to do. "" if there is none.
std::string remark_on_missing_names(const Recorded& recorded) {
  const std::vector<Object>& objects = recorded.functions.objects();
  std::set<uint32_t> nameless;  // objects with such functions
  for (uint32_t f = 0; f < recorded.sums.size(); ++f) {
    const Function& function = recorded.functions.functions()[f];
    if (function.is_import || !occurs(recorded, f)) continue;
    if (objects[function.object].lacks_symbols() && function.raw_name.starts_with('#'))
      nameless.insert(function.object);
  }
  if (nameless.empty()) return "";
  const Object& object = objects[*nameless.begin()];  // the program, if it is one of them
  const size_t others = nameless.size() - 1;
  std::string text = object.name();
  if (others != 0) text += " and " + prof_text::count_of(others, "more module");
  text += ": stripped; ";
  if (object.expected_debug_file().empty()) return text + "nothing in it names a debug file";
  return text + "not found: " + short_path(object.expected_debug_file()) + "; see --debug-dir";
}

// Sets `sources` of what was recorded. What there is to tell of modules without debug information is added to the
// remarks.
void find_sources(Recorded& recorded, const DebugSearch& search, std::vector<std::string>& remarks) {
  std::map<uint32_t, ObjectDebugInfo> objects;
  std::map<uint32_t, SamplesByAddress> samples;  // by object
  for (const AddressSamples& s : recorded.histogram) samples[s.object][s.address] += s.samples;
  const std::vector<Function>& functions = recorded.functions.functions();
  recorded.sources.assign(functions.size(), {});
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const Object& object = recorded.functions.objects()[functions[f].object];
    if (functions[f].is_import || object.files().empty() || !occurs(recorded, f)) continue;
    const auto at = objects.try_emplace(functions[f].object, object, search).first;
    if (std::optional<FunctionSource> source = at->second.find(functions[f].address, samples[functions[f].object])) {
      for (InlinedFunction& inlined : source->inlined)
        inlined.name = recorded.functions.name_of(inlined.raw_name, object);
      recorded.sources[f] = std::move(*source);
    }
  }
  for (const auto& [o, info] : objects)
    if (const std::string problem = info.problem(); !problem.empty())
      remarks.push_back(recorded.functions.objects()[o].name() + ": " + problem);
}

// What to tell the user if one function has most of the time, and others were inlined into it; else "". It costs
// little: large debug information is not looked at.
std::string remark_on_inlining(const Recorded& recorded, const DebugSearch& search) {
  double all = 0;
  uint32_t top = 0;
  for (uint32_t f = 0; f < recorded.sums.size(); ++f) {
    all += double(recorded.sums[f].self);
    if (recorded.sums[f].self > recorded.sums[top].self) top = f;
  }
  if (!recorded.timed() || all <= 0 || double(recorded.sums[top].self) <= all / 2) return "";
  const Function& function = recorded.functions.functions()[top];
  const Object& object = recorded.functions.objects()[function.object];
  if (function.is_import || object.files().empty()) return "";
  const std::optional<FunctionSource> source =
      ObjectDebugInfo(object, search, kQuicklyReadDebugInfo).find(function.address);
  if (!source || source->inlined.empty()) return "";
  const size_t count = source->inlined.size();
  char share[40];
  std::snprintf(share, sizeof share, " is %.0f %%: ", 100 * double(recorded.sums[top].self) / all);
  return recorded.functions.name_with_module(function) + share +
         prof_text::count_of(count, "function was", "functions were") + " inlined into it; prof --inlined lists " +
         (count == 1 ? "it" : "them");
}

bool are_of_one_program(const Profile& first, const Profile& other) {
  if (first.modules().empty() || other.modules().empty()) return true;
  const Module &a = first.modules()[0], &b = other.modules()[0];
  return a.build_id.empty() || b.build_id.empty() ? a.path == b.path : a.build_id == b.build_id;
}

void check_same_program(const Profile& first, const Profile& other) {
  if (!are_of_one_program(first, other)) {
    const Module &a = first.modules()[0], &b = other.modules()[0];
    throw Error(other.path() + ": is of another program than " + first.path() + ": build-id " +
                build_id_text(b.build_id) + " of " + b.path + ", not " + build_id_text(a.build_id) + " of " + a.path +
                "; name profiles of one program");
  }
}

void check_same_type(const Profile& first, const Profile& other) {
  if (first.header().type != other.header().type) {
    throw Error(other.path() + ": cannot be added to " + first.path() +
                ": they have different PROFTYPEs; name profiles of one PROFTYPE");
  }
}

// Puts one part together: some of the profiles, or one thread of one.
class Part {
 public:
  // `samples`: of the same run; null if there are none.
  Part(Analysis& analysis, const Input& input, const Samples* samples)
      : a_(analysis), input_(input), samples_(samples) {
    a_.complete = true;
    a_.lost = a_.folded = a_.lost_durations = 0;
    a_.hook_cycles = 0;
    a_.limited = false;
    a_.duration = 0;
    a_.run_times = {};
    a_.arcs.clear();
    a_.indirect_calls.clear();
    a_.durations.clear();
    a_.hook_samples = a_.sample_signals = a_.samples_without_room = 0;
  }

  void add(const Profile& profile) {
    // Time stamps of different machines tick differently; those of one are estimated a little differently each time.
    const double hz = time_stamp_rate(profile.header());
    const bool scaled = a_.tsc_hz > 0 && hz > 0 && std::abs(hz / a_.tsc_hz - 1) > 0.001;
    Resolver resolver(a_.functions, profile);
    std::vector<std::string> damage = profile.damage();
    const TreeFaults faults = builder_.add(profile, resolver, {scaled ? a_.tsc_hz / hz : 1});
    if (!faults.damage().empty()) damage.push_back(faults.damage());
    for (std::string& remark : a_.functions.take_remarks()) a_.remarks.push_back(std::move(remark));
    lock_failed_ = lock_failed_ || std::ranges::any_of(profile.counters(), &ModuleCounters::lock_failed);
    if (!damage.empty()) {
      std::string text = profile.path() + ": the profile is damaged: ";
      for (const std::string& d : damage) text += d + "; ";
      a_.remarks.push_back(text + "what could be read is shown");
      a_.damaged = true;
    }
    if (faults.impossible_times) {
      a_.remarks.push_back(profile.path() + ": " +
                           prof_text::count_of(faults.impossible_times, "time is longer than its thread",
                                               "times are longer than their thread") +
                           " ran, which cannot be. " + (faults.impossible_times == 1 ? "It" : "Each") +
                           " has a ?, and the longest possible time is shown");
    }
    if (!profile.recording().problem.empty()) {
      a_.remarks.push_back(profile.path() + ": prof ctl limited what is recorded, but its list " +
                           control_list_path(profile.path()) + " " + profile.recording().problem +
                           "; all of the run is shown");
      a_.damaged = true;
    }
    a_.limited = a_.limited || profile.recording().is_limited();
    completeness_.add(profile);
    blocks_.add(profile, has_threads(profile), a_.functions);
    const uint32_t flags = profile.header().flags;
    const bool whole = (flags & prof_format::kEnded) && !(flags & prof_format::kGivenUp) && damage.empty() &&
                       profile.recording().problem.empty();
    a_.complete = a_.complete && whole;
    a_.lost += profile.lost();
    a_.folded += profile.folded();
    a_.lost_durations += profile.lost_durations();
    lacks_durations_ = lacks_durations_ || std::ranges::all_of(profile.threads(), [](const Thread& thread) {
                         return thread.durations.empty();
                       });
    const prof_format::Header& h = profile.header();
    const double scale = scaled ? a_.tsc_hz / hz : 1;
    for (const Thread& thread : profile.threads()) {
      (a_.has_hooks() ? a_.hook_samples : a_.samples_without_room) += thread.hook_samples;
      a_.sample_signals += thread.sample_signals;
      a_.hook_cycles += double(thread.hook_cycles) * scale;
      for (const DurationsAt& at : thread.durations) {
        const uint32_t function = resolver.find_hook(at.pc);
        if (function >= a_.durations.size()) a_.durations.resize(a_.functions.functions().size());
        a_.durations[function].add(at.durations, scale);
      }
    }
    is_to_be_sampled_ = is_to_be_sampled_ || !(flags & prof_format::kNotToSample);
    if (a_.by_samples()) histogram_.add(profile, a_.functions);
    const uint64_t probe = a_.estimated() ? h.probe_counted : h.probe_inside + h.probe_outside;
    a_.probe = std::max(a_.probe, double(probe) / 256 * scale);
    a_.duration += double(profile.recorded()) * scale;
    a_.run_times.add(profile, rate_or_default(hz));
  }

  // `name` is what remarks are about.
  void finish(const std::string& name) {
    a_.tree = builder_.finish(!input_.raw_times && a_.timed());
    BlockCounts counts = blocks_.finish(a_.functions, input_.blocks);
    a_.blocks = std::move(counts.blocks);
    a_.ways = std::move(counts.ways);
    // Blocks are those of all threads.
    if (!a_.has_hooks() && !a_.blocks.empty() && a_.thread == 0) {
      a_.counter_costs = blocks_.costs(a_.functions);
      count_calls_of_blocks(a_, input_.debug_files);
    }
    a_.sums = sum_functions(a_.tree, a_.functions.functions().size());
    if (!a_.durations.empty()) a_.durations.resize(a_.sums.size());
    a_.histogram = histogram_.finish();
    a_.samples_without_room += histogram_.without_room();
    const SamplesSeen seen = a_.by_samples() ? samples_seen() : SamplesSeen{};
    if (a_.by_samples()) {
      a_.has_times = seen.shown > 0;
      make_zeros_uncertain(a_.sums, a_.cycles_of_sample());
    }
    if (!input_.remarks) return;
    if (input_.durations && !a_.durations.empty()) remark_on_durations(name);
    if (lock_failed_)
      a_.remarks.push_back(name +
                           ": counts of libraries may be too small: threads or forked children counted at the same "
                           "time, and there was no room for counters of their own, or code may not be changed here");
    if (!a_.has_hooks() && a_.by_samples()) remark_on_shared_counters(name);
    for (std::string& remark : completeness_.remarks(name)) a_.remarks.push_back(std::move(remark));
    if (a_.by_samples() && is_to_be_sampled_) remark_on(seen, name);
    if (a_.timed() && a_.tsc_hz <= 0 && !a_.by_samples())
      a_.remarks.push_back(
          name +
          ": the rate of its clock is not known, so times can be compared with each other, but are not "
          "seconds: a billion cycles are shown as one");
    if (a_.tree.nodes.size() == 1 && !a_.damaged) a_.remarks.push_back(name + ": no calls were recorded");
    if (a_.timed() && input_.samples.empty()) add_cost_of_hooks(name);  // else times are not those of this run
  }

 private:
  // Samples find threads, too, of which nobody told the runtime.
  bool has_threads(const Profile& profile) const {
    if (profile.threads().size() > 1 || !samples_) return profile.threads().size() > 1;
    return std::ranges::count(samples_->threads, profile.header().pid, &SampledThread::process) > 1;
  }

  void remark_on_durations(const std::string& name) {
    if (a_.lost_durations != 0)
      a_.remarks.push_back(name + ": " + prof_text::count_of(a_.lost_durations, "duration") +
                           " found no room, so percentiles lack them; run it with a larger PROFSIZE");
    if (a_.hooks_part() > Analysis::kMostOfHooks) {
      a_.remarks.push_back(name + ": hooks took " + std::to_string(std::lround(100 * a_.hooks_part())) +
                           " % of the time, so durations are uncertain; they take most at first, so let it run longer");
    }
    if (lacks_durations_)
      a_.remarks.push_back(name + ": not all of the profiles have durations of calls, so some calls are missing");
  }

  void remark_on_shared_counters(const std::string& name) {
    constexpr double kWorthTelling = 0.05;  // of the time
    if (a_.tsc_hz <= 0 || !a_.run_times.processor) return;
    if (blocks_.shared_cycles() > kWorthTelling * *a_.run_times.processor * a_.tsc_hz)
      a_.remarks.push_back(name +
                           ": its threads shared the counters of libraries, which takes long, so times are "
                           "uncertain; true ones: prof run without --libs");
  }
  void add_cost_of_hooks(const std::string& name) {
    const CallNode& root = a_.tree.nodes[0];
    const double hooks = double(root.total_probe), all = hooks + double(root.total);
    if (hooks <= all / 2) return;
    char text[200];
    std::snprintf(text, sizeof text,
                  ": hooks took %.0f %% of the time, so times are uncertain; prof run --true shows true ones, and prof "
                  "--suggest what to leave out",
                  100 * hooks / all);
    a_.remarks.push_back(name + text);
  }

  struct SamplesSeen {
    double shown = 0, in_hooks = 0;
    double all() const { return shown + in_hooks; }
  };

  SamplesSeen samples_seen() const {
    return {std::round(double(a_.tree.nodes[0].total) / a_.cycles_of_sample()), double(a_.hook_samples)};
  }

  // How many samples there are, which part of them was left out, and what that means.
  void remark_on(const SamplesSeen& seen, const std::string& name) {
    char text[200];
    std::snprintf(text, sizeof text, ": %.0f samples, one every %g ms on a processor", seen.all(),
                  double(a_.sample_period) * 1e-6);
    std::string remark = name + text;
    constexpr double kMany = 0.9;  // of the signals that should have come
    if (double(a_.sample_signals) < kMany * seen.all())
      remark += "; " + prof_text::count_of(a_.sample_signals, "signal") + " brought them, because of other load";
    if (seen.in_hooks > 0) {
      std::snprintf(text, sizeof text, "; %.0f %% of them in hooks, left out", 100 * seen.in_hooks / seen.all());
      remark += text;
    }
    a_.remarks.push_back(remark);
    if (a_.samples_without_room)
      a_.remarks.push_back(name + ": the addresses of " + prof_text::count_of(a_.samples_without_room, "sample") +
                           " found no room in the profile, so times of lines lack them; run it with a larger PROFSIZE");
    if (seen.in_hooks > seen.all() / 2)
      a_.remarks.push_back(name +
                           ": the hooks were more than half of the run, so what is left says little of functions of a "
                           "few cycles; prof run --true has their times");
  }

  Analysis& a_;
  const Input& input_;
  const Samples* samples_;
  TreeBuilder builder_;
  BlockSums blocks_;
  Completeness completeness_;
  Histogram histogram_;
  bool lacks_durations_ = false;   // one of the profiles
  bool lock_failed_ = false;       // of counters of libraries, in a process
  bool is_to_be_sampled_ = false;  // else somebody else takes samples
};

// Of a program, nothing that was recorded yet.
Analysis begin(const Input& input, Object program, std::vector<std::string> remarks) {
  Analysis a(FunctionTable(std::move(program), input.raw_names, input.debug_files), input.program);
  a.remarks = std::move(remarks);
  a.profiles = input.profiles;
  a.module_patterns = input.module_patterns;
  a.function_filter = prof_names::Filter(input.function_patterns, input.not_function_patterns);
  if (input.whole_names) a.functions.use_whole_names();
  return a;
}

Analysis prepare(const Input& input, const Profile& first) {
  std::vector<std::string> remarks;
  Object opened = open_program(first, input.program, input.debug_files, remarks);
  Analysis a = begin(input, std::move(opened), std::move(remarks));
  const Object& program = a.functions.program();
  if (input.remarks && !program.is_rewritten() && !(program.is_listed() && program.is_missing()))
    a.remarks.push_back(first.path() +
                        ": the program itself was not rewritten; shown is what its rewritten libraries did");
  if (a.program.empty()) a.program = program.is_listed() ? first.modules()[0].path : program.name();
  a.type = figure_type_of(first.header());
  a.sample_period = a.by_samples() ? first.header().sample_period : 0;
  a.tsc_hz = time_stamp_rate(first.header());
  return a;
}

// Adds up the profiles at `paths`, of which the first was read already.
void sum_up(Analysis& a, const Input& input, const Samples* samples, const Profile& first,
            const std::vector<std::string>& paths) {
  Part all(a, input, samples);
  all.add(first);
  for (size_t i = 1; i < paths.size(); ++i) {
    const Profile profile = Profile::read(paths[i], input.durations);
    check_same_program(first, profile);
    check_same_type(first, profile);
    all.add(profile);
  }
  all.finish(first.path());
}

// Elapsed times alone say little of a program that did not run most of the time.
void remark_on_waiting(Analysis& a, const Input& input, const std::string& name) {
  if (!input.remarks || !a.timed() || a.on_processor() || !a.run_times.is_mostly_waiting()) return;
  a.remarks.push_back(name + ": " + a.run_times.line() +
                      "; the rest, which is in these times, it waited or other programs had the processor: "
                      "PROFTYPE=time tells them apart");
}

// What debug files and debug information tell of the functions, and what they would if they were there.
void add_sources(Analysis& a, const Input& input) {
  if (input.sources) find_sources(a, input.debug_files, a.remarks);
  if (!input.remarks) return;
  const bool has_rows = std::ranges::any_of(a.functions.functions(), &Function::is_inlined);
  const std::string inlining =
      input.sources || has_rows || !input.may_list_inlined ? "" : remark_on_inlining(a, input.debug_files);
  for (const std::string& remark : {remark_on_missing_names(a), inlining})
    if (!remark.empty()) a.remarks.push_back(remark);
}

// If some of a list of profiles are of times on a processor, and all others of elapsed times, moves the former out of
// the list and returns them. Else returns none.
std::vector<std::string> take_processor_runs(std::vector<std::string>& paths) {
  std::vector<std::string> on_processor, elapsed;
  for (const std::string& path : paths) {
    const uint32_t type = read_header(path).type;
    if (type != prof_format::kCpu && type != prof_format::kElapsed) return {};
    (type == prof_format::kCpu ? on_processor : elapsed).push_back(path);
  }
  if (elapsed.empty() || on_processor.empty()) return {};
  paths = std::move(elapsed);
  return on_processor;
}

// Makes the run `b`, which has the functions of `a` and maybe more, the other one of `a`.
void lay_beside(Analysis& a, Analysis b, const Input& input) {
  a.functions = std::move(b.functions);
  a.type = FigureType::waiting;
  a.cpu = ProcessorRun{std::move(b.tree), {}, input.raw_times};
  unite(a.tree, a.cpu->tree);
  const size_t functions = a.functions.functions().size();
  a.sums = sum_functions(a.tree, functions);
  a.cpu->sums = sum_functions(a.cpu->tree, functions);
  a.complete = a.complete && b.complete;
  a.damaged = a.damaged || b.damaged;
  a.limited = a.limited || b.limited;
  a.lost += b.lost;
  a.folded += b.folded;
  const std::string different = different_calls(a.sums, a.cpu->sums, a.functions.functions());
  a.remarks.insert(a.remarks.end(), b.remarks.begin(), b.remarks.end());
  if (input.remarks && !different.empty()) a.remarks.push_back(different);
}

// The samples that prof run --type auto took while profiles were made, if that was one run; "" if there are none.
std::string samples_of_run(const std::vector<std::string>& profiles, std::vector<std::string>& remarks) {
  std::vector<std::string> found;
  for (const std::string& path : profiles)
    if (read_header(path).flags & prof_format::kNotToSample)
      if (access(samples_beside(path).c_str(), R_OK) == 0) found.push_back(samples_beside(path));
  if (found.size() < 2) return found.empty() ? "" : found[0];
  remarks.push_back(found[0] + ": the samples of " + std::to_string(found.size()) +
                    " runs cannot be added up, so no times are shown; name the profiles of one run");
  return "";
}

// Samples are of all processes together.
std::string remark_on_other_processes(const Analysis& a, const Samples& samples, const std::string& path) {
  std::set<uint32_t> processes;
  for (const SampledThread& thread : samples.threads)
    if (thread.user) processes.insert(thread.process);
  if (processes.size() <= a.profiles.size()) return "";
  return path + ": is of " + std::to_string(processes.size()) + " processes, and the calls are those of " +
         prof_text::count_of(a.profiles.size(), "profile") + "; name all of the run";
}

// A daemon does its work when prof run, and so the sampling, has ended.
std::string remark_on_unsampled(const Analysis& a, const Samples& samples) {
  constexpr size_t kMaxNamed = 3;
  std::string numbers;
  size_t found = 0;
  for (const std::string& profile : a.profiles) {
    const uint32_t process = read_header(profile).pid;
    if (std::find(samples.outlived_by.begin(), samples.outlived_by.end(), process) == samples.outlived_by.end())
      continue;
    if (++found <= kMaxNamed) numbers += (found == 1 ? "" : ", ") + std::to_string(process);
  }
  if (found == 0) return "";
  if (found > kMaxNamed) numbers += " ...";
  return ": " + std::to_string(found) + " of " + prof_text::count_of(a.profiles.size(), "process", "processes") + " (" +
         numbers + ") went on when prof run, and so the sampling, had ended; calls after that have no time";
}

// What counters at a call make uncertain, in cycles: a processor does the work on both sides of it at the same time,
// and samples find it on one of them, which with counters may be the other. (A function of two cycles was seen with
// three more.)
constexpr UncertainCost kCountedCall = {0, -3, 3};

// Puts the times of a file of samples in the place of those of the run.
void take_samples(Analysis& a, const Input& input, const Samples& samples) {
  a.type = a.has_hooks() ? FigureType::true_times : FigureType::true_times_of_addresses;
  a.has_times = true;
  Histogram histogram;
  a.sampled = credit(samples, a.functions, histogram, input.samples, a.remarks);
  a.histogram = histogram.finish();
  for (std::string& remark : a.functions.take_remarks()) a.remarks.push_back(std::move(remark));
  std::vector<UncertainCost>& costs = a.counter_costs.by_function;
  for (size_t f = 0; f < costs.size() && f < a.sums.size(); ++f)
    if (costs[f].high > 0) costs[f].add(kCountedCall * double(a.sums[f].calls));
  leave_out_counters(a.counter_costs, a.rate(), *a.sampled);
  const bool has_chains = !a.has_hooks() && a.sampled->has_chains();
  if (has_chains && input.inlined_rows)
    add_inlined_rows(a.histogram, input.debug_files, a.functions, *a.sampled, a.remarks);
  if (has_chains) {
    a.sums = use_chains(samples, a.rate(), {a.arcs, a.indirect_calls}, *a.sampled, a.tree);
  } else {
    a.sums = use_samples(*a.sampled, a.rate(), a.tree);
  }
  // Of a function that ran and whose blocks do not tell its calls, these are not known.
  for (size_t f = 0; f < a.sums.size() && !a.has_hooks(); ++f)
    if (a.sums[f].calls == 0) a.sampled->is_counted[f] = false;
  if (!input.remarks) return;
  if (const std::string cut = has_chains ? chains_cut_off(samples.chains) : ""; !cut.empty())
    a.remarks.push_back(input.samples + ": " + cut);
  constexpr double kFew = 50;  // with which half of the time is known to a quarter of it
  if (!a.has_hooks() && samples.status && double(samples.user) / samples.weight < kFew)
    a.remarks.push_back(input.samples + ": for a run as short as this prof run --type time tells more");
  if (!samples.status)
    a.remarks.push_back(input.samples + ": the samples end before the program did, or it still runs");
  if (const std::string missing = time_without_samples(samples); !missing.empty())
    a.remarks.push_back(input.samples + ": " + missing);
  const std::string others = remark_on_other_processes(a, samples, input.samples);
  if (!a.has_hooks() && !others.empty()) a.remarks.push_back(others);
  if (const std::string unsampled = remark_on_unsampled(a, samples); !unsampled.empty())
    a.remarks.push_back(input.samples + unsampled);
  if (samples.lost)
    a.remarks.push_back(input.samples + ": " + prof_text::count_of(samples.lost, "record") + " of samples were lost");
  const std::string impossible = impossible_samples(*a.sampled, a.sums, a.functions.functions());
  if (!impossible.empty()) a.remarks.push_back(impossible);
}

// Leaves the contexts that were asked for, and says what part of the whole they are.
void leave_contexts(Analysis& a, const Input& input, const std::string& name) {
  select_contexts(a, input.contexts);
  if (input.contexts.is_any() && a.sampled) a.sampled->timeline = {};  // its nodes are of the whole tree
  if (!input.contexts.is_any() || !input.remarks) return;
  if (a.contexts.caller_levels != 0)
    a.remarks.push_back(name + ": there are too many callers of callers; shown are " +
                        prof_text::count_of(a.contexts.caller_levels, "level") + " of them");
  FunctionSum left;
  for (const FunctionSum& sum : a.sums) add_self(left, sum);
  const double all = double(a.timed() ? a.contexts.whole.self : a.contexts.whole.calls);
  const double part = double(a.timed() ? left.self : left.calls);
  if (all <= 0 || !input.contexts.leaves_out()) return;
  char text[80];
  std::snprintf(text, sizeof text, ": the contexts shown have %.1f %% of the %s", 100 * part / all,
                a.timed() ? "time" : "calls");
  a.remarks.push_back(name + text);
}

Object open_program_of_gmon(const Input& input, std::vector<std::string>& remarks) {
  ElfFile file(input.program);
  Object object(base_name(input.program), Object::Kind::program, input.program);
  object.set_rewritten(std::move(file));
  object.add_debug_file(input.debug_files, remarks);
  object.finish();
  return object;
}

Analysis analyse_gmon(const Input& input) {
  if (input.program.empty())
    throw Error(input.profiles.at(0) + ": does not say which program it is of; name that: prof PROGRAM " +
                input.profiles[0]);
  if (!input.samples.empty()) throw Error(input.profiles.at(0) + ": has times of its own; --true is for profiles");
  std::vector<std::string> remarks;
  Object program = open_program_of_gmon(input, remarks);
  Analysis a = begin(input, std::move(program), std::move(remarks));
  a.folded = read_gmons({input.profiles, input.gmon_libraries, input.remarks}, a, a.remarks);
  return a;
}

}  // namespace

bool are_alike(const Profile& a, const Profile& b) {
  return are_of_one_program(a, b) && a.header().type == b.header().type;
}

Analysis analyse(const Input& as_given) {
  if (is_gmon_file(as_given.profiles.at(0))) {
    Analysis a = analyse_gmon(as_given);
    add_sources(a, as_given);
    leave_contexts(a, as_given, as_given.profiles[0]);
    return a;
  }
  Input input = as_given;
  std::vector<std::string> paths = input.profiles, remarks;
  if (input.samples.empty()) input.samples = samples_of_run(paths, remarks);
  const std::vector<std::string> others = input.side_by_side ? take_processor_runs(paths) : std::vector<std::string>();
  const Profile first = Profile::read(paths.at(0), input.durations);
  Analysis a = prepare(input, first);
  a.remarks.insert(a.remarks.end(), remarks.begin(), remarks.end());
  std::optional<Samples> samples;
  if (!input.samples.empty()) samples = read_samples(input.samples);
  sum_up(a, input, samples ? &*samples : nullptr, first, paths);
  if (samples) take_samples(a, input, *samples);
  if (others.empty()) {
    remark_on_waiting(a, input, first.path());
  } else {
    const Profile first_other = Profile::read(others[0], input.durations);
    check_same_program(first, first_other);
    Analysis b(std::move(a.functions), a.program);
    b.type = FigureType::cpu;
    b.tsc_hz = a.tsc_hz;
    sum_up(b, input, nullptr, first_other, others);
    lay_beside(a, std::move(b), input);
  }
  add_sources(a, input);
  leave_contexts(a, input, first.path());
  return a;
}

bool analyse_apart(const Input& input, Apart apart, const std::function<void(const Analysis&)>& show) {
  if (is_gmon_file(input.profiles.at(0)))
    throw Error(input.profiles[0] +
                ": a gmon.out does not say which thread or process it is of; leave out -t, -p and --processes");
  const Profile first = Profile::read(input.profiles.at(0));
  Analysis a = prepare(input, first);
  bool is_first = true;
  for (const std::string& path : input.profiles) {
    Profile profile = Profile::read(path, input.durations);
    check_same_program(first, profile);
    check_same_type(first, profile);
    a.process = profile.header().pid;
    a.parent_process = profile.header().parent_pid;
    a.command = profile.command_line();
    a.profiles = {path};
    if (input.remarks && access(samples_beside(path).c_str(), R_OK) == 0)
      a.remarks.push_back(samples_beside(path) +
                          ": samples are of all threads and processes together, so none of them has times");
    std::vector<Profile> parts;
    if (apart == Apart::threads)
      parts = Profile::by_thread(std::move(profile));
    else
      parts.push_back(std::move(profile));
    for (const Profile& p : parts) {
      Part part(a, input, nullptr);
      part.add(p);
      if (apart == Apart::threads) {
        a.thread = p.threads()[0].tid;
        a.thread_name = p.threads()[0].name;
      }
      a.part_times = apart == Apart::threads ? part_times(p, p.threads()[0]) : part_times(p);
      const std::string name = apart == Apart::threads ? path + ", thread " + std::to_string(a.thread) : path;
      part.finish(name);
      if (std::exchange(is_first, false)) add_sources(a, input);
      leave_contexts(a, input, name);
      show(a);
      a.remarks.clear();
    }
  }
  return !a.damaged;
}

}  // namespace prof
