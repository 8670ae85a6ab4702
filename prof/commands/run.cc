// While the program runs, this process only waits. Others should see the two as one process. A key on the terminal
// (Ctrl-C) sends its signal to both: the program decides what it means, this process waits on. A signal that somebody
// sent to this process alone (kill, timeout) is handed on to the program. At the end this process ends as the program
// did, by the same exit status or the same signal.

#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cache.h"
#include "message.h"
#include "prof/model/analysis.h"
#include "prof/read/clock.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "show.h"
#include "suggest.h"

namespace prof {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t running_child = 0;  // pid

void forward(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // si_code > 0: from the kernel, which sent it to the terminal's whole process group.
  if (running_child && info->si_code <= 0) kill(running_child, signal);
  errno = saved;
}

bool is_executable_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As a shell finds commands.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    struct stat status;
    if (stat(name.c_str(), &status) != 0) throw Error(name + ": " + system_error(errno));
    if (S_ISDIR(status.st_mode)) throw Error(name + ": is a directory");
    if (!is_executable_file(name)) throw Error(name + ": is not executable");
    return name;
  }
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (bool more = !name.empty(); more;) {
    const size_t colon = rest.find(':');
    const std::string directory = rest.substr(0, colon);
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    if (is_executable_file(candidate)) return candidate;
    more = colon != std::string::npos;
    if (more) rest.erase(0, colon + 1);
  }
  throw Error(name + ": is not in PATH");
}

// A script is run by its interpreter, and that is the program to profile.
void refuse_script(const std::string& path) {
  char start[256] = {};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(path + ": " + system_error(errno));
  const ssize_t n = read(fd, start, sizeof start - 1);
  close(fd);
  if (n < 2 || start[0] != '#' || start[1] != '!') return;
  std::string interpreter(start + 2);
  interpreter = interpreter.substr(0, interpreter.find('\n'));
  interpreter.erase(0, interpreter.find_first_not_of(" \t"));
  const size_t last = interpreter.find_last_not_of(" \t\r");
  interpreter.resize(last == std::string::npos ? 0 : last + 1);
  if (interpreter.starts_with("/usr/bin/env ")) interpreter.erase(0, 13);
  throw Error(path + ": is a script; profile its interpreter: prof run -- " + interpreter + " " + path);
}

struct Child {
  pid_t pid = 0;
  uint64_t start_time = 0;  // as in a profile's header; 0 if unknown
};

// Starts the program and waits for it. Returns the status of waitpid and sets `child`. With `counts_directory`, it only
// counts calls, its profile goes there, and what it prints goes nowhere.
int run_to_the_end(const std::string& copy, const std::vector<std::string>& arguments, Child& child,
                   const char* counts_directory = nullptr) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  // No signal may come between the start of the program and the moment when we know its pid.
  sigset_t forwarded, before;
  sigemptyset(&forwarded);
  for (int s : kForwarded) sigaddset(&forwarded, s);
  sigprocmask(SIG_BLOCK, &forwarded, &before);

  child.pid = fork();
  if (child.pid < 0) throw Error("fork: " + system_error(errno));
  if (child.pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (counts_directory) {
      setenv("PROFTYPE", "count", 1);
      unsetenv("PROFSTART");
      setenv("PROFDIR", counts_directory, 1);
      const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
    }
    execv(copy.c_str(), argv.data());
    say(copy + ": " + system_error(errno));
    _exit(127);
  }

  child.start_time = process_start_time(uint32_t(child.pid));
  running_child = child.pid;
  struct sigaction old[std::size(kForwarded)];
  for (size_t i = 0; i < std::size(kForwarded); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(kForwarded[i], nullptr, &old[i]);
    if (old[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);

  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  for (size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &old[i], nullptr);
  return status;
}

// The profile that the program left; "" if there is none. One of an earlier process with its number does not count.
std::string profile_of(const Child& child, const std::string& directory) {
  const auto [path, remarks] = newest_profile(directory, uint32_t(child.pid));
  say_all(remarks);
  if (path.empty()) return "";
  const uint64_t start_time = read_header(path).start_time;
  return start_time == 0 || child.start_time == 0 || start_time == child.start_time ? path : "";
}

// Ends this process as the program ended.
int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int s = WTERMSIG(status);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the program has dumped its own core
  signal(s, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, s);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(s);
  return 128 + s;
}

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

// Runs the program to count its calls, and adds options that leave out what is not worth timing.
void leave_out_by_counts(const std::string& program, Options& options) {
  Options counting = options;
  counting.report.clear();
  const std::string copy = rewritten_copy(program, counting);
  if (copy.empty()) return;
  const TemporaryDirectory directory;
  Child child;
  run_to_the_end(copy, options.arguments, child, directory.path().c_str());
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
  refuse_script(program);
  if (options.automatic) leave_out_by_counts(program, options);
  const std::string copy = rewritten_copy(program, options);
  if (copy.empty()) return 1;

  Child child;
  const int status = run_to_the_end(copy, options.arguments, child);
  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads its profile
  try {
    const char* directory = std::getenv("PROFDIR");
    const std::string profile = profile_of(child, directory && *directory ? directory : ".");
    if (profile.empty()) {
      if (!(WIFEXITED(status) && WEXITSTATUS(status) == 127)) say(name + ": left no profile");
    } else {
      show(options, copy, {profile}, stderr);
      say("the profile is " + profile);
    }
  } catch (const Error& e) {
    say(e.what());
  }
  return end_like(status);
}

}  // namespace prof
