#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/options/command_line.h"
#include "prof/commands/copies/program_copy.h"
#include "prof/commands/launching/first_run.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/launching/streams.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/options.h"
#include "prof/model/compare/side_by_side.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/sample/samples.h"
#include "prof/views/compare/side_by_side.h"
#include "prof/views/text/output.h"
#include "verbs.h"

namespace prof {

namespace {

// A new directory for files that are not to stay.
class TemporaryDirectory {
 public:
  // Throws Error if none can be made.
  TemporaryDirectory() {
    const char* where = std::getenv("TMPDIR");
    path_ = std::string(where && *where ? where : "/tmp") + "/prof-XXXXXX";
    if (!mkdtemp(path_.data())) throw Error(path_ + ": " + system_error(errno));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  // Removes it with all that is in it.
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The runs of prof compare: a program as it is, its profiled copy, and the build of gcc -pg, in turn.

// Paths of what is run; `pg` is empty if there is none.
struct Builds {
  std::string program, copy, pg;
};

struct ComparedRuns {
  RunsTaken plain, profiled;
  std::optional<RunsTaken> pg;
  std::vector<std::string> profiles, gmons;  // that all runs left
  std::string samples;                       // a file of them; empty: none were taken
  int status = 0, last_status = 0;           // of the first and the last run, as from waitpid
  bool was_ended = false;                    // a run was ended from outside, and there was none after it
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Has the streams of the first run pass.
class PassedStreams : public Watcher {
 public:
  explicit PassedStreams(Streams& streams) : streams_(streams) {}
  void begin(pid_t) override {}
  void watch(pid_t process) override {
    streams_.begin();
    siginfo_t ignored;
    while (waitid(P_PID, id_t(process), &ignored, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    streams_.end();
  }

 private:
  Streams& streams_;
};

class Comparer {
 public:
  Comparer(const CompareOptions& options, const Builds& builds, const std::string& folder)
      : options_(options), builds_(builds), folder_(folder), streams_(false) {
    result_.plain = {"as it is", builds.program, {}, {}};
    result_.profiled = {"profld", builds.program, {}, {}};
    if (!builds.pg.empty()) result_.pg = {"gcc -pg", builds.pg, {}, {}};
  }

  ComparedRuns run_all() {
    for (unsigned i = 0; i < options_.runs && !result_.was_ended; ++i) run_each();
    if (options_.true_times && !result_.was_ended) run_sampled();
    return std::move(result_);
  }

 private:
  void run_each() {
    if (!run(result_.plain, builds_.program, {})) return;
    const std::string profiles = new_folder();
    Environment environment = {{"PROFDIR", profiles}};
    if (!options_.type.empty()) environment.emplace_back("PROFTYPE", options_.type);
    if (!run(result_.profiled, builds_.copy, environment)) return;
    keep(profiles_of(last_, profiles), result_.profiles, "the profiled run left no profile");
    if (!result_.pg) return;
    const std::string gmons = new_folder();
    if (!run(*result_.pg, builds_.pg, {{"GMON_OUT_PREFIX", gmons + "/gmon"}})) return;
    keep(files_in(gmons), result_.gmons,
         builds_.pg + ": left no gmon.out: it has to be compiled and linked by gcc -pg, and to end by exit");
  }

  // Returns false if it was ended from outside.
  bool run(RunsTaken& taken, const std::string& program, const Environment& environment, Watcher* watcher = nullptr) {
    Launch launch = {.program = program,
                     .arguments = options_.arguments,
                     .environment = environment,
                     .not_in_environment = {"PROFSTART"}};
    PassedStreams passed(streams_);
    if (is_first_) {
      streams_.for_first(launch);
      watcher = &passed;
    } else {
      streams_.for_second(launch);
    }
    const auto start = std::chrono::steady_clock::now();
    last_ = run_to_the_end(launch, watcher);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    taken.elapsed.push_back(elapsed.count());
    taken.user.push_back(double(last_.user_time + last_.system_time) * 1e-9);
    if (std::exchange(is_first_, false)) result_.status = last_.status;
    result_.last_status = last_.status;
    result_.was_ended = last_.was_signalled && WIFSIGNALED(last_.status);
    if (!result_.was_ended && last_.status != result_.status)
      say_once("the first run " + how_ended(result_.status) + ", a run of " + taken.name + " " +
               how_ended(last_.status));
    return !result_.was_ended;
  }

  // Its time is that of a program that is sampled, so it counts for nothing else.
  void run_sampled() {
    const std::unique_ptr<FirstRun> sampled = first_run(builds_.program);
    if (!sampled) return;
    if (!sampled->remark().empty()) say(options_.arguments[0] + ": " + sampled->remark());
    RunsTaken ignored = {"the program under samples", "", {}, {}};
    if (!run(ignored, sampled->program(), {}, sampled.get())) return;
    const Samples samples = samples_of(*sampled, last_, builds_.program, options_.arguments);
    const std::string path = folder_ + "/prof.samples";
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) throw Error(path + ": " + system_error(errno));
    write_samples(samples, file.get(), path);
    result_.samples = path;
  }

  std::string new_folder() {
    const std::string path = folder_ + "/" + std::to_string(folders_++);
    std::filesystem::create_directory(path);
    return path;
  }

  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
  }

  void keep(const std::vector<std::string>& left, std::vector<std::string>& all, const std::string& problem) {
    if (left.empty()) say_once(problem);
    all.insert(all.end(), left.begin(), left.end());
  }

  void say_once(const std::string& text) {
    if (said_.insert(text).second) say(text);
  }

  const CompareOptions& options_;
  const Builds& builds_;
  const std::string& folder_;
  Streams streams_;
  ComparedRuns result_;
  Child last_;
  bool is_first_ = true;
  unsigned folders_ = 0;
  std::set<std::string> said_;
};

// Runs all as the options say. What they leave is in a folder that is there. Says when a run ends unlike the first, or
// leaves nothing. Throws Error if one cannot be started.
ComparedRuns run_in_turn(const CompareOptions& options, const Builds& builds, const std::string& folder) {
  return Comparer(options, builds, folder).run_all();
}

using prof_options::Given;
using prof_options::set;

const prof_options::Table<CompareOptions> kOptions = {
    {{0, "pg", "BUILD", "the same program, built with gcc -pg"},
     [](CompareOptions& o, const Given& given) { o.pg = prof_options::name_of(given, "BUILD"); }},
    {{0, "runs", "N", "run each N times"},
     [](CompareOptions& o, const Given& given) {
       o.runs = prof_options::number_of<unsigned>(given, 1, 1000, "a number from 1 to 1000");
     }},
    {{0, "true", "", "and once more as it is, sampled: true shares of the time"}, set<&CompareOptions::true_times>},
    {{0, "type", "TYPE", "profile with PROFTYPE=TYPE"},
     [](CompareOptions& o, const Given& given) { o.type = type_of(given); }},
    {{'n', "rows", "N", "the first N functions, not 20"},
     [](CompareOptions& o, const Given& given) {
       o.rows = prof_options::number_of<size_t>(given, 1, SIZE_MAX, "a number greater than 0");
     }},
    {{0, "json", "", "everything as JSON"}, set<&CompareOptions::json>},
    {{0, "output", "FILE", "print to FILE"},
     [](CompareOptions& o, const Given& given) { o.output = prof_options::name_of(given, "FILE"); }},
    {{'w', "wide", "", "write names out: neither simplify nor cut them"}, set<&CompareOptions::wide>},
    {{0, "raw-names", "", "do not demangle names"}, set<&CompareOptions::raw_names>},
    prof_options::help_option<CompareOptions>(),
};

}  // namespace

std::string compare_help_text() {
  return "usage: prof compare [options] [--] program [argument ...]\n"
         "\n"
         "Runs a program as it is, and as profld profiles it, and, with --pg, as it was\n"
         "built by gcc -pg, in turn, three times each. Prints on standard error how long\n"
         "each took, and what part of the time and how many calls each found in the\n"
         "program's functions. The first run's output is shown, and the others read what\n"
         "it read.\n"
         "\n" +
         prof_options::help_of(kOptions, {22}) +
         "\n"
         "See prof(1).\n";
}

CompareOptions parse_compare_options(int argc, char** argv) {
  CompareOptions o;
  o.arguments = prof_options::parse(kOptions, {"prof compare", true}, argc, argv, o).rest;
  if (o.arguments.empty() && !o.help)
    throw UsageError("compare: no program named; prof compare [options] [--] program [argument ...]");
  return o;
}

namespace {

void check_not_rewritten(const std::string& program) {
  if (ElfFile(program).is_rewritten())
    throw Error(program + ": is rewritten already; prof compare needs the original program");
}

// The build that --pg names: a file, or like a command.
std::string find_build(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || !std::filesystem::is_regular_file(name))
    return name.empty() ? "" : find_program(name);
  return "./" + name;
}

// `samples`: a file of them, or "".
Analysis analysed(const CompareOptions& options, const std::string& program, const std::vector<std::string>& profiles,
                  const std::string& samples) {
  Input input;
  input.program = program;
  input.profiles = profiles;
  input.raw_names = options.raw_names;
  input.whole_names = options.wide;
  input.samples = samples;
  input.remarks = false;
  input.may_list_inlined = false;
  input.debug_files.beside.push_back(std::filesystem::path(program).parent_path().string());
  Analysis analysis = analyse(input);
  say_all(analysis.remarks);
  return analysis;
}

SideBySide put_together(const CompareOptions& options, const std::string& copy, ComparedRuns runs) {
  std::vector<RunsTaken> taken = {std::move(runs.plain), std::move(runs.profiled)};
  std::optional<Analysis> exact, gprof, sampled;
  if (!runs.profiles.empty()) exact.emplace(analysed(options, copy, runs.profiles, ""));
  if (exact && !runs.samples.empty()) sampled.emplace(analysed(options, copy, runs.profiles, runs.samples));
  if (!runs.gmons.empty()) gprof.emplace(analysed(options, runs.pg->program, runs.gmons, ""));
  if (runs.pg) taken.push_back(std::move(*runs.pg));
  std::vector<ShownRuns> shown;
  if (exact) shown.push_back({"profld", &*exact, options.runs, true});
  if (gprof) shown.push_back({"gcc -pg", &*gprof, options.runs, true});
  if (sampled) shown.push_back({"true", &*sampled, 1, false});
  return side_by_side(std::move(taken), shown);
}

void print(const CompareOptions& options, const SideBySide& all, Output& out, std::optional<size_t> columns) {
  if (options.json) return print_side_by_side_json(all, out);
  print_side_by_side(all, {options.rows, options.wide, columns}, out);
}

void show(const CompareOptions& options, const SideBySide& all) {
  if (!options.output.empty())
    return write_file(options.output, [&](Output& out) { print(options, all, out, std::nullopt); });
  std::optional<size_t> columns;
  if (const std::optional<TerminalSize> terminal = terminal_size(STDERR_FILENO)) columns = terminal->columns;
  Output out(stderr, "standard error");
  print(options, all, out, columns);
  out.finish();
}

// Returns how the first run ended, as from waitpid.
int run_and_show(const CompareOptions& options, const Builds& builds) {
  const TemporaryDirectory directory;
  ComparedRuns runs = run_in_turn(options, builds, directory.path());
  const int status = runs.status;
  if (runs.was_ended) {
    say(options.arguments[0] + ": was ended from outside, so there is nothing to compare");
    return runs.last_status;
  }
  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads this
  try {
    show(options, put_together(options, builds.copy, std::move(runs)));
  } catch (const Error& e) {
    say(e.what());
  }
  return status;
}

}  // namespace

int compare(const CompareOptions& options) {
  const std::string program = find_program(options.arguments[0]);
  check_not_rewritten(program);
  const std::string pg = find_build(options.pg);
  const std::string copy = rewritten_copy(program, Options{});
  if (copy.empty()) return 1;
  return end_like(run_and_show(options, {program, copy, pg}));
}

}  // namespace prof
