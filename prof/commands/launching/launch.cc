#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

#include "prof/commands/options/message.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/clock.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"

namespace prof {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t running_child = 0;  // pid
volatile sig_atomic_t was_signalled = 0;

void forward(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  was_signalled = 1;
  // si_code > 0: from the kernel, which sent it to the terminal's whole process group.
  if (running_child && info->si_code <= 0) kill(running_child, signal);
  errno = saved;
}

bool is_executable_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As a shell finds commands.
std::string search(const std::string& name) {
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
  throw Error(name + ": is not in PATH" + (is_executable_file("./" + name) ? "; did you mean ./" + name + "?" : ""));
}

// rbenv, pyenv and others of their kind put a script in front of a program of which there are several versions. All
// these scripts end in a line that has the tool execute the program, and the tool also tells which one that is. Returns
// its path; that of the script itself if it is no such one.
std::string follow_shim(const std::string& path) {
  constexpr std::string_view kExecutes = " exec \"$program\" \"$@\"", kTells = " which \"$program\"";
  constexpr size_t kMaxShim = 4096;  // bytes
  std::string text(kMaxShim, '\0');
  std::ifstream file(path);
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  const size_t at = text.rfind(kExecutes);
  if (!text.starts_with("#!") || at == std::string::npos) return path;
  text.replace(at, kExecutes.size(), kTells);
  // For any shell; prof::quoted is for those that people type in.
  const auto in_quotes = [](const std::string& word) {
    std::string quotes = " '";
    for (const char c : word) quotes += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quotes + "'";
  };
  const std::string interpreter = text.substr(2, text.find('\n') - 2);
  const std::string command = interpreter + " -c" + in_quotes(text) + in_quotes(path) + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(popen(command.c_str(), "re"), pclose);
  char program[PATH_MAX + 1] = {};
  if (!answer || !std::fgets(program, sizeof program, answer.get())) return path;
  program[std::strcspn(program, "\n")] = '\0';
  return is_executable_file(program) ? program : path;
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

// In the child. `gate` is closed, or has a byte in it once the program may be started; -1: it may be.
[[noreturn]] void become(const Launch& launch, int gate) {
  char go = 0;
  if (gate >= 0 && read(gate, &go, 1) != 1) _exit(127);
  const int descriptors[] = {launch.input, launch.output, launch.error};
  for (int i = 0; i < 3; ++i) {
    if (descriptors[i] >= 0) dup2(descriptors[i], i);
  }
  for (const std::string& name : launch.not_in_environment) unsetenv(name.c_str());
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  argv.reserve(launch.arguments.size() + 1);
  for (const std::string& word : launch.arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(launch.program.c_str(), argv.data());
  say(launch.program + ": " + system_error(errno));
  _exit(127);
}

// Hands signals on to the running child, as long as it lives.
class Forwarding {
 public:
  // No signal may come between the start of the program and the moment when we know its pid.
  Forwarding() {
    sigset_t forwarded;
    sigemptyset(&forwarded);
    for (int s : kForwarded) sigaddset(&forwarded, s);
    sigprocmask(SIG_BLOCK, &forwarded, &before_);
  }
  Forwarding(const Forwarding&) = delete;

  void begin(pid_t child) {
    running_child = child;
    was_signalled = 0;
    for (size_t i = 0; i < std::size(kForwarded); ++i) {
      struct sigaction action = {};
      action.sa_sigaction = forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(kForwarded[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  // The child's process is still there, or the signal that comes now is for nobody.
  void end() {
    running_child = 0;
    for (size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &old_[i], nullptr);
  }

  const sigset_t& mask_before() const { return before_; }
  void restore_mask() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
  struct sigaction old_[std::size(kForwarded)];
};

uint64_t nanoseconds(const timeval& time) {
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_usec) * 1000;
}

int wait_for(pid_t pid, rusage* usage) {
  int status = 0;
  while (wait4(pid, &status, 0, usage) < 0 && errno == EINTR) {
  }
  return status;
}

// Whether a profile is of the same program as that of a process of this family that began earlier, and of one of them
// or a child of theirs.
bool belongs(const std::string& path, const Profile& first, const std::set<uint32_t>& family) {
  try {
    const prof_format::Header header = read_header(path);
    return header.realtime_start >= first.header().realtime_start &&
           (family.contains(header.parent_pid) || family.contains(header.pid)) && are_alike(first, Profile::read(path));
  } catch (const Error&) {
    return false;  // an old one, of another version
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  const std::string path = follow_shim(search(name));
  refuse_script(path);
  return path;
}

Child run_to_the_end(const Launch& launch, Watcher* watcher) {
  int gate[2] = {-1, -1};
  if (watcher && pipe2(gate, O_CLOEXEC) != 0) throw Error("pipe: " + system_error(errno));
  Forwarding forwarding;
  Child child;
  child.pid = fork();
  if (child.pid == 0) {
    sigprocmask(SIG_SETMASK, &forwarding.mask_before(), nullptr);
    close(gate[1]);
    become(launch, gate[0]);
  }
  const int fork_error = errno;
  if (watcher) close(gate[0]);
  std::exception_ptr failure;
  if (child.pid > 0 && watcher) {
    try {
      watcher->begin(child.pid);
      if (write(gate[1], "", 1) != 1) throw Error("pipe: " + system_error(errno));
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (watcher) close(gate[1]);
  if (child.pid < 0 || failure) {
    forwarding.restore_mask();
    if (child.pid < 0) throw Error("fork: " + system_error(fork_error));
    wait_for(child.pid, nullptr);
    std::rethrow_exception(failure);
  }

  child.start_time = process_start_time(uint32_t(child.pid));
  forwarding.begin(child.pid);
  if (watcher) watcher->watch(child.pid);
  rusage usage = {};
  child.status = wait_for(child.pid, &usage);
  forwarding.end();
  child.user_time = nanoseconds(usage.ru_utime);
  child.system_time = nanoseconds(usage.ru_stime);
  child.was_signalled = was_signalled;
  return child;
}

std::string profile_of(const Child& child, const std::string& directory) {
  const auto [path, remarks] = newest_profile(directory, uint32_t(child.pid));
  say_all(remarks);
  if (path.empty()) return "";
  const uint64_t start_time = read_header(path).start_time;
  return start_time == 0 || child.start_time == 0 || start_time == child.start_time ? path : "";
}

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

std::string profile_directory() {
  const char* directory = std::getenv("PROFDIR");
  return directory && *directory ? directory : ".";
}

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

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

}  // namespace prof
