#include "true_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "linker-rewrite/text/count.h"
#include "prof/commands/copies/program_copy.h"
#include "prof/commands/launching/descendants.h"
#include "prof/commands/launching/first_run.h"
#include "prof/commands/launching/keep_skeletons.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/launching/streams.h"
#include "prof/commands/options/message.h"
#include "prof/commands/showing/show.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/sample/samples.h"

namespace prof {

namespace {

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
  if (profiles.empty()) return say(options.arguments[0] + ": left no profile; the samples are " + o.samples);
  say_all(keep_skeletons(profiles));
  show(o, copy, profiles, stderr);
  std::string text = "the samples are " + o.samples + ", the profile is " + profiles[0];
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

}  // namespace

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

}  // namespace prof
