#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cache.h"
#include "launch.h"
#include "libraries.h"
#include "message.h"
#include "prof/model/analysis.h"
#include "prof/read/file.h"
#include "show.h"
#include "suggest.h"
#include "true_run.h"

namespace prof {

namespace {

// A new directory, which is removed with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* where = std::getenv("TMPDIR");
    path_ = std::string(where && *where ? where : "/tmp") + "/prof-XXXXXX";
    if (!mkdtemp(path_.data())) throw Error(path_ + ": " + system_error(errno));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

CopyWithLibraries copy_of(const std::string& program, const Options& options) {
  if (options.libraries) return copy_with_libraries(program, options);
  return {rewritten_copy(program, options), ""};
}

// Runs the program to count its calls, and adds options that leave out what is not worth timing.
void leave_out_by_counts(const std::string& program, Options& options) {
  Options counting = options;
  counting.report.clear();
  const std::string copy = copy_of(program, counting).program;
  if (copy.empty()) return;
  const TemporaryDirectory directory;
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Child child = run_to_the_end({copy,
                                      options.arguments,
                                      -1,
                                      nowhere.get(),
                                      nowhere.get(),
                                      {{"PROFTYPE", "count"}, {"PROFDIR", directory.path()}},
                                      {"PROFSTART"}});
  const std::string profile = profile_of(child, directory.path());
  if (profile.empty()) {
    say("the counting run left no profile; all functions are timed");
    return;
  }
  const Analysis analysis = analyse({copy, {profile}, false, false, false});
  say_all(analysis.remarks);
  const Suggestion s = suggest(analysis);
  for (const std::string& pattern : s.patterns) options.rewriting.insert(options.rewriting.end(), {"-N", pattern});
  char text[120];
  std::snprintf(text, sizeof text, "after a counting run %zu function%s with %.1f %% of all calls %s left out",
                s.patterns.size(), s.patterns.size() == 1 ? "" : "s", 100 * s.calls,
                s.patterns.size() == 1 ? "is" : "are");
  say(text);
}

}  // namespace

int run(Options options) {
  if (options.arguments.empty())
    throw UsageError("run: no program named; prof run [options] [--] program [argument ...]");
  const std::string& name = options.arguments[0];
  const std::string program = find_program(name);
  if (options.true_times) return run_true(options, program);
  if (options.automatic) leave_out_by_counts(program, options);
  const CopyWithLibraries copy = copy_of(program, options);
  if (copy.program.empty()) return 1;

  const Child child = run_to_the_end({copy.program, options.arguments});
  const int status = child.status;
  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads its profile
  try {
    const std::string profile = profile_of(child, profile_directory());
    if (profile.empty()) {
      if (!(WIFEXITED(status) && WEXITSTATUS(status) == 127)) say(name + ": left no profile");
    } else {
      show(options, copy.program, {profile}, stderr);
      say("the profile is " + profile);
    }
    const std::string remark = remark_on_missed_libraries(copy, options);
    if (!remark.empty()) say(remark);
  } catch (const Error& e) {
    say(e.what());
  }
  return end_like(status);
}

}  // namespace prof
