#include "compare_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "first_run.h"
#include "message.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/sample/samples.h"
#include "streams.h"

namespace prof {

namespace {

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
    Launch launch = {program, options_.arguments, -1, -1, -1, environment, {"PROFSTART"}};
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

}  // namespace

ComparedRuns run_in_turn(const CompareOptions& options, const Builds& builds, const std::string& folder) {
  return Comparer(options, builds, folder).run_all();
}

}  // namespace prof
