// prof run: has profld rewrite the program, runs the copy, and shows the profile. There are three kinds of runs: with
// hooks, which time calls; without (AutoRun), where blocks are counted and samples are taken from outside; and --true,
// two runs (run_true). How a program is started and ends is in prof/commands/launching/, where copies are kept in
// copies/.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "libprof/format/blocks.h"
#include "libprof/format/map.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/copies/cache.h"
#include "prof/commands/copies/dynamic_linker.h"
#include "prof/commands/copies/library_copies.h"
#include "prof/commands/copies/pattern_check.h"
#include "prof/commands/copies/program_copy.h"
#include "prof/commands/launching/descendants.h"
#include "prof/commands/launching/first_run.h"
#include "prof/commands/launching/keep_skeletons.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/launching/streams.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/options.h"
#include "prof/commands/showing/choose.h"
#include "prof/commands/showing/show.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/run_times.h"
#include "prof/read/block_table.h"
#include "prof/read/clock.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/sample/own_samples.h"
#include "prof/sample/perf_sampler.h"
#include "prof/sample/samples.h"
#include "verbs.h"

namespace prof {

namespace {

// The runtime says itself why it cannot record.
constexpr char kNoProfile[] =
    ": left no profile; if no line above says why, it was killed before it began one, or the file was removed: run it "
    "again";

// Samples a program and has its streams pass.
class SampledRun : public Watcher {
 public:
  SampledRun(FirstRun& run, Streams& streams) : run_(run), streams_(streams) {}
  void begin(pid_t process) override { run_.begin(process); }
  void watch(pid_t process) override {
    streams_.begin();
    run_.watch(process);
    streams_.end();
  }

 private:
  FirstRun& run_;
  Streams& streams_;
};

// Writes prof.samples in a directory, or prof.samples.1 and so on if that is taken. Returns its path.
std::string leave(const Samples& samples, const std::string& directory) {
  const std::string name = (directory == "." ? "" : directory + "/") + "prof.samples";
  for (unsigned i = 0;; ++i) {
    const std::string path = i ? name + "." + std::to_string(i) : name;
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) throw Error(path + ": " + system_error(errno));
    write_samples(samples, file.get(), path);
    return path;
  }
}

// Shows what both runs left.
void show_both(const Options& options, const std::string& copy, const Samples& samples, const Child& counted) {
  Options o = options;
  o.samples = leave(samples, profile_directory());
  const std::vector<std::string> profiles = profiles_of(counted, profile_directory());
  if (profiles.empty()) return say(options.arguments[0] + kNoProfile + "; the samples are in " + o.samples);
  say_all(keep_skeletons(profiles));
  show(o, copy, profiles, stderr);
  std::string text = "the samples are in " + o.samples + ", the profile is " + profiles[0];
  if (profiles.size() > 1) {
    const size_t others = profiles.size() - 1;
    text += ", with " + prof_text::count_of(others, "of a child", "of children");
  }
  say(text);
  std::vector<uint32_t> living;
  run_and_living(profiles[0], profile_directory(), living);
  const std::string remark = remark_on_living(living, options.arguments[0], profile_directory(), false);
  if (!remark.empty()) say(remark);
}

// prof run --true: true times and exact calls, from two runs of the program at `program`: as it is, under samples, and
// then profiled. Prints what both together say on standard error. Ends, or returns an exit status, as the first run
// did; 1 if the program could not be rewritten. Throws Error if it cannot be sampled or started.
int run_true(const Options& options, const std::string& program) {
  // Samples name the functions of libraries, and better: as they are called inside the library. Imports would be lines
  // without samples. Of --imports and --no-imports, the last counts.
  Options rewriting = options;
  rewriting.rewriting.insert(rewriting.rewriting.begin(), "--no-imports");
  const std::string copy = rewritten_copy(program, rewriting);
  if (copy.empty()) return 1;
  const std::unique_ptr<FirstRun> sampled = first_run(program);
  if (!sampled) return 1;
  Streams streams(options.check);
  SampledRun watcher(*sampled, streams);
  say(options.arguments[0] +
      " is run twice: as it is, to see where its time goes, and again to count its calls, without its output");
  if (!sampled->remark().empty()) say(options.arguments[0] + ": " + sampled->remark());

  Launch launch = {sampled->program(), options.arguments};
  launch.not_in_environment = sampled->not_in_environment();
  streams.for_first(launch);
  const Child first = run_to_the_end(launch, &watcher);

  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads its profile
  try {
    const Samples samples = samples_of(*sampled, first, program, options.arguments);
    if (first.was_signalled && WIFSIGNALED(first.status)) {
      say("the first run was ended from outside, so there is no second; the samples are " +
          leave(samples, profile_directory()));
      return end_like(first.status);
    }
    launch.program = copy;
    launch.not_in_environment.clear();
    streams.for_second(launch);
    const Child second = run_to_the_end(launch);
    if (second.status != first.status) {
      say("the first run " + how_ended(first.status) + ", the second " + how_ended(second.status));
    }
    const std::string remark = streams.remark();
    if (!remark.empty()) say(remark);
    show_both(options, copy, samples, second);
  } catch (const Error& e) {
    say(e.what());
  }
  return end_like(first.status);
}

// A program that is rewritten already is run as it is; then nothing can be asked of the rewriting.
void check_rewritten(const std::string& program, const Options& o) {
  if (!o.rewriting.empty() || !o.report.empty() || o.libraries || o.true_times)
    throw Error(program +
                ": is rewritten already; -F, -N, --libs, --true, --type auto and other options of rewriting need the "
                "original program");
}

bool is_rewritten(const std::string& program) {
  return !start_of_section(program, prof_format::kMapSection, 1).empty();
}

// Of a program that profld did not rewrite: whether -F means functions of its libraries.
std::string remark_on_functions_elsewhere(const std::string& program, const Options& options) {
  if (!std::ranges::count(options.rewriting, "-F")) return "";
  try {
    const std::string linker = ElfFile(program).interpreter();
    if (linker.empty()) return "";
    std::vector<std::string> libraries = libraries_of(program, linker);
    std::erase_if(libraries, [&](const std::string& library) {  // it stays as it is
      std::error_code error;
      return std::filesystem::equivalent(library, linker, error);
    });
    return remark_on_unprofiled_libraries(program, libraries, options);
  } catch (const Error&) {
    return "";  // profld has said what is wrong with it
  }
}

// The copy with which prof run runs a program.
CopyWithLibraries copy_of(const std::string& program, const Options& options) {
  if (is_rewritten(program)) {
    check_rewritten(program, options);
    return {program, "", false, ""};
  }
  if (options.libraries) {
    CopyWithLibraries copy = copy_with_libraries(program, options);
    if (!copy.tunables.empty()) setenv("GLIBC_TUNABLES", copy.tunables.c_str(), 1);
    return copy;
  }
  const std::string copy = rewritten_copy(program, options);
  if (copy.empty()) {
    const std::string remark = remark_on_functions_elsewhere(program, options);
    if (!remark.empty()) say(remark);
  }
  return {copy, "", false, ""};
}

// A folder for the profiles of this run alone, as the runtime and this process take it from the environment.
void use_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(folder + ": " + error.message());
  if (!profiles_in(folder).empty())
    throw Error(folder + ": has profiles of another run in it; name another folder, or remove them");
  setenv("PROFDIR", std::filesystem::absolute(folder).c_str(), 1);
}

// Says where the profiles are, and what to type to look at them, in one line of 80 columns if there is room. What is
// the newest run here prof shows without being told. `where`: the profile of the first process, or the folder of all.
void say_where(const std::string& where, bool is_folder, bool has_page) {
  constexpr size_t kColumns = 80 - 6;  // "prof: "
  const std::string line = (is_folder ? "the profiles are in " : "the profile is ") + where;
  if (has_page) return say(line);
  const bool is_newest_here = !is_folder && where.find('/') == std::string::npos;
  const std::string name = is_newest_here ? "" : " " + quoted(where);
  const std::string both = line + "; to look: prof tui" + name + " or prof --html page.html" + name;
  say(both.size() <= kColumns ? both : line + "; to look at it: prof --html page.html " + quoted(where));
}

// Shows what a run left: all of it in a folder of its own, or if it was sampled, since samples are of all processes;
// the first process's profile elsewhere.
void show_run(const Options& options, const std::string& program, std::vector<std::string> run, bool is_sampled) {
  std::vector<std::string> remarks;
  const std::string directory = options.folder.empty() ? profile_directory() : options.folder;
  if (!options.folder.empty() || options.apart == Apart::processes || is_sampled) {
    run = alike(std::move(run), remarks);
  } else {
    const std::string others = remark_on_others(run, directory);
    if (!others.empty()) remarks.push_back(others);
    run.resize(1);
  }
  say_all(remarks);
  show(options, program, run, stderr);
  const std::string where = options.folder.empty() ? run[0] : options.folder;
  say_where(where, !options.folder.empty(), !options.html.empty());
}

// Whether hooks may be there and leave, so that how long calls last is known at the cost of counting blocks.
bool may_hooks_leave(const Options& o, const std::string& program) {
  if (o.view != Options::View::latency || o.libraries) return false;
  try {
    return ElfFile(program).is_dynamic();
  } catch (const Error&) {
    return false;  // profld says what is wrong with it
  }
}

// What takes hooks that stay, of all that is asked for: an option's name; "" if nothing does.
std::string what_takes_hooks(const Options& o, const std::string& program) {
  if (o.libraries_only) return "--libs-only";
  if (o.trace) return "--trace";
  if (std::getenv("PROFSTART")) return "PROFSTART";
  if (o.apart != Apart::nothing) return o.apart == Apart::threads ? "-t" : "--processes";
  if (o.view == Options::View::suggestion || o.view == Options::View::fallacy ||
      (o.view == Options::View::latency && !may_hooks_leave(o, program)))
    return o.view_option;
  constexpr std::string_view kFree[] = {"--blocks", "--discover", "--debug-dir", "--keep"};
  for (const std::string& option : o.rewriting)
    if (option.starts_with('-') && !std::ranges::count(kFree, option.substr(0, option.find('=')))) return option;
  return "";
}

// Whether the run is one of --type auto: because that was asked for, or because nothing else was.
bool is_auto(const Options& o, const std::string& program) {
  const bool is_wanted = o.type == kAutoType;
  if ((!o.type.empty() && !is_wanted) || o.true_times || (!is_wanted && is_rewritten(program))) return false;
  const std::string option = what_takes_hooks(o, program);
  if (!option.empty() && is_wanted)
    throw UsageError(option + " needs hooks, which --type auto does not use; write --type time with it");
  if (!option.empty()) return false;
  PerfSettings settings;
  const int error = may_sample(settings);
  if (error == 0 || is_rewritten(program) || can_sample_itself(program)) return true;
  const std::string why = program + ": is static, and perf events are not allowed (" + system_error(error) +
                          "), so it cannot be sampled; sysctl kernel.perf_event_paranoid=2 allows them";
  if (is_wanted) throw Error(why);
  say(why + "; it runs with hooks, as by --type time");
  return false;
}

// A run with hooks counts blocks as well, as by -b, if something is asked for that is made of them.
void count_blocks_if_needed(Options& options) {
  const bool is_needed = !options.llvm_profile.empty() || !options.gcc_profile.empty() || !options.bolt.empty();
  if (!is_needed || options.blocks) return;
  options.rewriting.emplace_back("--blocks");
  options.blocks = true;
}

// Where hooks stay there is nothing to keep.
void stay_with_hooks(Options& options) {
  std::erase_if(options.rewriting, [](const std::string& word) { return word.starts_with("--keep="); });
  count_blocks_if_needed(options);
}

// Whether a copy's threads increment the same counters, which takes longer than most of what is counted.
bool has_locked_counters(const std::string& copy) {
  return are_increments_locked(start_of_section(copy, prof_format::kBlocksSection, sizeof(prof_format::BlocksHeader)));
}

// The run of a copy that counts its basic blocks and has no hooks, or hooks that leave: from these counts all calls are
// known, and they cost little. Where time goes is known from samples, which are taken from outside while it runs.
class AutoRun {
 public:
  // Adds what profld is asked for to the options.
  AutoRun(std::string program, Options& options) : program_(std::move(program)), arguments_(options.arguments) {
    if (may_hooks_leave(options, program_))
      options.rewriting.insert(options.rewriting.begin(), "--latency");
    else
      options = with_or_without_hooks(std::move(options));
    options.blocks = true;
  }

  // To be called before the copy is started, with how that will be done.
  void prepare(Launch& launch) {
    PerfSettings settings;
    const int error = may_sample(settings);
    if (error == 0) {
      sampler_ =
          only_run(launch.program, [this](pid_t process, Samples samples) { keep(process, std::move(samples)); });
      launch.environment.emplace_back("PROFTYPE", kAutoType);  // it takes no samples itself
    } else {
      launch.not_in_environment.emplace_back("PROFTYPE");
      say("perf events are not allowed (" + system_error(error) +
          "), so the program samples itself, 250 times a second; sysctl kernel.perf_event_paranoid=2 allows them");
    }
  }

  // Who takes the samples; null if that is the copy itself.
  Watcher* watcher() const { return sampler_.get(); }

  // Leaves the samples beside the profile of the process. `living`: those of the run that go on.
  void leave_samples(const Child& child, const std::string& profile, const std::vector<uint32_t>& living) {
    if (!sampler_) return;
    Samples samples = samples_of(*sampler_, child, program_, arguments_);
    samples.outlived_by = living;
    replace_samples(samples, samples_beside(profile));
  }

 private:
  // Leaves what there is so far, in case that this process is killed, and for others to look at. Called on another
  // thread.
  void keep(pid_t process, Samples samples) {
    try {
      if (profile_.empty()) {
        const std::string found = newest_profile(profile_directory(), uint32_t(process)).path;
        if (found.empty() || read_header(found).start_time != process_start_time(uint32_t(process))) return;
        profile_ = found;
      }
      samples.program = program_;
      samples.arguments = arguments_;
      samples.status.reset();
      const ProcessorTimes times = processor_times(uint32_t(process));
      samples.set_times(times.user, times.system);
      replace_samples(samples, samples_beside(profile_));
    } catch (const Error&) {  // leave_samples tells
    }
  }

  const std::string program_;
  const std::vector<std::string> arguments_;
  std::string profile_;  // of the process that runs; empty until it is there
  std::unique_ptr<FirstRun> sampler_;
};

// Two that watch one program.
class BothWatchers : public Watcher {
 public:
  BothWatchers(Watcher& one, Watcher& other) : one_(one), other_(other) {}

  void begin(pid_t process) override {
    one_.begin(process);
    other_.begin(process);
  }
  void watch(pid_t process) override {
    std::thread beside([&] { other_.watch(process); });
    one_.watch(process);
    beside.join();
  }

 private:
  Watcher &one_, &other_;
};

// Of the files trace.PID in a folder. Numbers of processes come again, and then there are trace.PID.1 and so on.
std::set<std::string> traces_in(const std::string& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with("trace.")) found.insert(entry.path().string());
  return found;
}

// Says where the trace of the process is, which was not among those before.
void say_trace(const Options& options, pid_t process, const std::set<std::string>& before) {
  const std::string name = "/trace." + std::to_string(process);
  for (const std::string& path : traces_in(profile_directory())) {
    if (before.contains(path) || (path + ".").find(name + ".") == std::string::npos) continue;
    const std::string shown = std::filesystem::path(path).lexically_normal().string();
    return say("the trace is " + shown + "; prof istat " + quoted(shown) + " adds it up");
  }
  say(options.arguments[0] + ": wrote no trace." + std::to_string(process));
}

// A program that soon jumps into a library, as python3 does where Python is one, has hardly a function of its own: then
// says how to see the library's. `program`: the original.
std::string remark_on_time_outside(const Options& options, const std::string& program, const std::string& profile) {
  constexpr double kWorthTelling = 0.02;  // seconds
  if (options.libraries || !options.rewriting.empty() || !ElfFile(program).is_dynamic()) return "";
  const Profile read = Profile::read(profile);
  RunTimes times;
  const double hz = time_stamp_rate(read.header());
  if (hz <= 0) return "";
  times.add(read, hz);
  if (!times.processor || times.outside < std::max(kWorthTelling, *times.processor / 2)) return "";
  char text[100];
  std::snprintf(text, sizeof text,
                ": %.0f %% of its time was not in its own functions; with libraries: prof run --libs --",
                100 * std::min(1.0, times.outside / *times.processor));
  std::string remark = options.arguments[0] + text;
  for (const std::string& word : options.arguments) remark += " " + quoted(word);
  return remark;
}

}  // namespace

int run(Options options) {
  if (options.arguments.empty())
    throw UsageError("run: no program named; prof run [options] [--] program [argument ...]");
  const std::string& name = options.arguments[0];
  const std::string program = find_program(name);
  // auto is nobody's wish: another prof run has left it here.
  if (const char* type = std::getenv("PROFTYPE"); type && options.type.empty() && type != std::string_view(kAutoType))
    options.type = type;
  if (!options.type.empty() && options.type != kAutoType) setenv("PROFTYPE", options.type.c_str(), 1);
  std::optional<AutoRun> sampled;
  const Options as_given = options;
  if (is_auto(options, program))
    sampled.emplace(program, options);
  else
    stay_with_hooks(options);
  if (!options.folder.empty()) use_folder(options.folder);
  options.debug_files.beside.push_back(std::filesystem::path(program).parent_path().string());
  if (options.true_times) return run_true(options, program);
  CopyWithLibraries copy = copy_of(program, options);
  if (copy.program.empty()) return 1;
  if (sampled && has_locked_counters(copy.program)) {
    const bool is_wanted = !options.type.empty();
    say(name + ": threads that nothing tells of may begin in it, so that all have to share counters; " +
        (is_wanted ? "that takes long, and its times are uncertain" : "so it runs with hooks, as by --type time"));
    if (!is_wanted) {
      sampled.reset();
      options.blocks = as_given.blocks;
      options.rewriting = as_given.rewriting;
      stay_with_hooks(options);
      copy = copy_of(program, options);
      if (copy.program.empty()) return 1;
    }
  }
  if (has_cache_grown()) shrink_cache(cache_directory(), options.cache_size);

  const std::set<std::string> traces_before = traces_in(profile_directory());
  Descendants descendants(copy.program);
  Launch launch = {copy.program, options.arguments};
  if (sampled) sampled->prepare(launch);
  BothWatchers both(sampled && sampled->watcher() ? *sampled->watcher() : descendants, descendants);
  const bool is_sampled = sampled && sampled->watcher();
  const Child child = run_to_the_end(launch, is_sampled ? static_cast<Watcher*>(&both) : &descendants);
  const int status = child.status;
  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads its profile
  try {
    const std::string profile = profile_of(child, profile_directory());
    if (profile.empty()) {
      if (!(WIFEXITED(status) && WEXITSTATUS(status) == 127)) say(name + kNoProfile);
    } else {
      std::vector<uint32_t> living;
      std::vector<std::string> profiles = run_and_living(profile, profile_directory(), living);
      say_all(keep_skeletons(profiles));
      if (sampled) sampled->leave_samples(child, profile, living);
      show_run(options, copy.program, std::move(profiles), is_sampled);
      if (options.trace) say_trace(options, child.pid, traces_before);
      const std::string remark = copy.program == program ? "" : remark_on_time_outside(options, program, profile);
      if (!remark.empty()) say(remark);
      const std::string others = remark_on_living(living, name, profile_directory(), is_sampled);
      if (!others.empty()) say(others);
    }
    for (const std::string& remark : {remark_on_missed_libraries(copy, options), descendants.remark(name)})
      if (!remark.empty()) say(remark);
  } catch (const Error& e) {
    say(e.what());
  }
  return end_like(status);
}

}  // namespace prof
