#include "descendants.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "prof/commands/options/message.h"
#include "prof/read/clock.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/header.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

constexpr int kFirstPause = 5, kLongestPause = 200;  // milliseconds between two looks
constexpr size_t kMaxSeen = 500;                     // at a look
constexpr double kWorthTelling = 0.1;                // seconds of the processor

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return read_all(file).value_or("");
}

// The fields 14 to 17 of /proc/PID/stat, proc_pid_stat(5): the time of the process and of the children that it waited
// for.
struct Times {
  uint64_t own = 0, children = 0;  // ticks
};

Times times_of(pid_t process) {
  const std::string text = text_of("/proc/" + std::to_string(process) + "/stat");
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));  // the name may contain anything
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  rest >> user >> system >> children_user >> children_system;
  return {user + system, children_user + children_system};
}

std::vector<std::string> command_of(pid_t process) {
  std::istringstream text(text_of("/proc/" + std::to_string(process) + "/cmdline"));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, '\0');) words.push_back(word);
  return words;
}

std::string program_of(pid_t process) {
  std::error_code error;
  return fs::read_symlink("/proc/" + std::to_string(process) + "/exe", error).string();
}

// Calls visit(path) for all that a folder in /proc has. What it lists may end meanwhile.
template <class Visit>
void each_entry(const std::string& folder, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    visit(at->path());
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  each_entry("/proc/" + std::to_string(process) + "/task", [&](const fs::path& thread) {
    std::istringstream text(text_of(thread / "children"));
    for (pid_t child; text >> child;) children.push_back(child);
  });
  return children;
}

// Waits for the end of a process, without reaping it, for so many milliseconds at most.
bool has_ended(pid_t process, int pidfd, int pause) {
  pollfd wait = {pidfd, POLLIN, 0};
  if (pidfd >= 0)
    poll(&wait, 1, pause);
  else
    usleep(useconds_t(pause) * 1000);
  siginfo_t info = {};
  return waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ? errno != EINTR : info.si_pid != 0;
}

}  // namespace

void Descendants::look_at_children(pid_t process) {
  std::vector<pid_t> rest = children_of(process);
  for (size_t i = 0; i < rest.size() && i < kMaxSeen; ++i) {
    const pid_t child = rest[i];
    const std::string program = program_of(child);
    if (program.empty()) continue;  // it is gone, or somebody else's
    if (program != copy_) {
      Seen& seen = seen_[child];
      seen.ticks = times_of(child).own;
      seen.command = command_of(child);  // a child begins as its parent, and then becomes another program
      if (!seen.command.empty()) seen.command[0] = program;
    }
    const std::vector<pid_t> more = children_of(child);
    rest.insert(rest.end(), more.begin(), more.end());
  }
}

void Descendants::watch(pid_t process) {
  const Descriptor pidfd(int(syscall(SYS_pidfd_open, process, 0)));
  for (int pause = kFirstPause; !has_ended(process, pidfd.get(), pause);
       pause = std::min(pause + pause / 2, kLongestPause))
    look_at_children(process);
  const Times times = times_of(process);
  own_ticks_ = times.own;
  children_ticks_ = times.children;
}

std::string Descendants::remark(const std::string& name) const {
  const double ticks_per_second = double(sysconf(_SC_CLK_TCK));
  const double own = double(own_ticks_) / ticks_per_second, others = double(children_ticks_) / ticks_per_second;
  if (others < kWorthTelling || others < own) return "";
  std::map<std::string, uint64_t> ticks;  // by program
  for (const auto& [pid, seen] : seen_)
    if (!seen.command.empty()) ticks[seen.command[0]] += seen.ticks;
  const auto most =
      std::max_element(ticks.begin(), ticks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == ticks.end() || most->second == 0) return "";
  uint64_t longest = 0;  // in ticks
  std::vector<std::string> command;
  for (const auto& [pid, seen] : seen_)
    if (!seen.command.empty() && seen.command[0] == most->first && (command.empty() || seen.ticks > longest)) {
      longest = seen.ticks;
      command = seen.command;
    }
  char text[120];
  std::snprintf(text, sizeof text,
                " ran %.2f s itself, and programs that it started %.2f s; to profile the longest: prof run --", own,
                others);
  std::string remark = name + text;
  for (const std::string& word : command) remark += " " + quoted(word);
  return remark;
}

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamed = 3;

// What /proc/PID/maps says of each of these files: device and inode, and on file systems that have several of these,
// the path.
class Files {
 public:
  explicit Files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      struct stat status;
      std::error_code error;
      if (stat(path.c_str(), &status) != 0) continue;
      char text[80];
      std::snprintf(text, sizeof text, " %02x:%02x %llu ", major(status.st_dev), minor(status.st_dev),
                    static_cast<unsigned long long>(status.st_ino));
      identities_.insert(text);
      paths_.insert(fs::canonical(path, error).string());
    }
  }

  // ADDRESSES PERMISSIONS OFFSET DEVICE INODE    PATH
  bool has(const std::string& line) const {
    size_t at = 0;
    for (int field = 0; field < 3 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
    if (at == std::string::npos) return false;
    const size_t inode = line.find(' ', at + 1), end = inode == std::string::npos ? inode : line.find(' ', inode + 1);
    if (end == std::string::npos) return false;
    const size_t path = line.find('/', end);
    return identities_.contains(line.substr(at, end + 1 - at)) ||
           (path != std::string::npos && paths_.contains(line.substr(path)));
  }

 private:
  std::set<std::string> identities_, paths_;
};

// The processes that have one of these files mapped, of those that did not start before.
std::set<uint32_t> processes_with(const Files& files, uint64_t start_time) {
  std::set<uint32_t> found;
  each_entry("/proc", [&](const fs::path& path) {
    const std::string name = path.filename().string();
    uint32_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) return;
    if (process_start_time(pid) < start_time) return;
    std::ifstream maps(path / "maps");
    for (std::string line; !found.contains(pid) && std::getline(maps, line);)
      if (files.has(line)) found.insert(pid);
  });
  return found;
}

}  // namespace

// A process that is about to begin its profile is found by the one or by the other: /proc is looked at first. If that
// shows that the run has grown, others may have been forked by those that are new.
std::vector<std::string> run_and_living(const std::string& profile, const std::string& directory,
                                        std::vector<uint32_t>& living) {
  std::vector<std::string> run = {profile};
  const uint64_t start_time = read_header(profile).start_time;
  for (size_t before = 0; before != run.size();) {
    before = run.size();
    const std::set<uint32_t> found = processes_with(Files(run), start_time);
    living.assign(found.begin(), found.end());
    run = Runs(directory).run_from(profile);
  }
  return run;
}

std::string remark_on_living(const std::vector<uint32_t>& living, const std::string& name, const std::string& directory,
                             bool is_sampled) {
  if (living.empty()) return "";
  const bool is_one = living.size() == 1;
  std::string numbers;
  for (size_t i = 0; i < std::min(living.size(), kMaxNamed); ++i)
    numbers += (i ? ", " : "") + std::to_string(living[i]);
  if (living.size() > kMaxNamed) numbers += " ...";
  const std::string prefix = directory == "." ? "" : directory + "/";
  return name + (is_one ? ": process " : ": processes ") + numbers +
         (is_one ? ", which it started, goes" : ", which it started, go") + " on" +
         (is_sampled ? " without samples" : "") + "; prof " + quoted(prefix + "prof." + std::to_string(living[0])) +
         " shows " + (is_sampled ? "the calls of " : "what ") + (is_one ? "it" : "the first") +
         (is_sampled ? "" : " does") + (is_sampled ? ", and prof run --type time has times as well" : "");
}

}  // namespace prof
