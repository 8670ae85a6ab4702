#include "true_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <vector>

#include "cache.h"
#include "launch.h"
#include "message.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/sample/perf_sampler.h"
#include "prof/sample/samples.h"
#include "show.h"
#include "streams.h"

namespace prof {

namespace {

constexpr unsigned kSamplesPerSecond = 5000;

// Samples a program and has its streams pass.
class SampledRun : public Watcher {
 public:
  SampledRun(PerfSampler& sampler, Streams& streams) : sampler_(sampler), streams_(streams) {}
  void begin(pid_t process) override { sampler_.attach(process); }
  void watch(pid_t process) override {
    streams_.begin();
    sampler_.watch(process);
    streams_.end();
  }

 private:
  PerfSampler& sampler_;
  Streams& streams_;
};

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

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

// Whether a profile is of the same program as that of a process of this family that began earlier, and of one of them or
// a child of theirs.
bool belongs(const std::string& path, const Profile& first, const std::set<uint32_t>& family) {
  try {
    const prof_format::Header header = read_header(path);
    return header.realtime_start >= first.header().realtime_start &&
           (family.contains(header.parent_pid) || family.contains(header.pid)) && are_alike(first, Profile::read(path));
  } catch (const Error&) {
    return false;  // an old one, of another version
  }
}

// The profiles of a process and of those that it forked, which are of the same program: its own first.
std::vector<std::string> profiles_of(const Child& child, const std::string& directory) {
  const std::string own = profile_of(child, directory);
  if (own.empty()) return {};
  const Profile profile = Profile::read(own);
  std::vector<std::string> paths = {own};
  std::set<uint32_t> family = {profile.header().pid};
  for (const std::string& path : profiles_in(directory)) {  // parents start before their children
    if (path == own || !belongs(path, profile, family)) continue;
    family.insert(read_header(path).pid);
    paths.push_back(path);
  }
  return paths;
}

// Shows what both runs left.
void show_both(const Options& options, const std::string& copy, const Samples& samples, const Child& counted) {
  Options o = options;
  o.samples = leave(samples, profile_directory());
  const std::vector<std::string> profiles = profiles_of(counted, profile_directory());
  if (profiles.empty()) return say(options.arguments[0] + ": left no profile; the samples are " + o.samples);
  show(o, copy, profiles, stderr);
  std::string text = "the samples are " + o.samples + ", the profile is " + profiles[0];
  if (profiles.size() > 1) {
    const size_t others = profiles.size() - 1;
    text += ", with " + std::to_string(others) + (others == 1 ? " of a child" : " of children");
  }
  say(text);
}

}  // namespace

int run_true(const Options& options, const std::string& program) {
  // Samples name the functions of libraries, and better: as they are called inside the library. Imports would be lines
  // without samples. Of --imports and --no-imports, the last counts.
  Options rewriting = options;
  rewriting.rewriting.insert(rewriting.rewriting.begin(), "--no-imports");
  const std::string copy = rewritten_copy(program, rewriting);
  if (copy.empty()) return 1;
  PerfSettings settings;
  if (const int error = may_sample(settings)) {
    throw Error("--true needs perf events, which this system does not allow (" + system_error(error) +
                "); allow them by sysctl kernel.perf_event_paranoid=2, or run prof as root");
  }
  PerfSampler sampler(kSamplesPerSecond);
  Streams streams(options.check);
  SampledRun watcher(sampler, streams);
  say(options.arguments[0] +
      " is run twice: as it is, to see where its time goes, and again to count its calls, without its output");

  Launch launch = {program, options.arguments};
  streams.for_first(launch);
  const Child first = run_to_the_end(launch, &watcher);
  Samples samples = sampler.finish();
  std::error_code ignored;
  samples.program = std::filesystem::canonical(program, ignored).string();
  samples.arguments = options.arguments;
  samples.user_time = first.user_time;
  samples.system_time = first.system_time;
  samples.status = first.status;

  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads its profile
  try {
    if (first.was_signalled && WIFSIGNALED(first.status)) {
      say("the first run was ended from outside, so there is no second; the samples are " +
          leave(samples, profile_directory()));
      return end_like(first.status);
    }
    launch.program = copy;
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

}  // namespace prof
