#include "living_processes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "prof/commands/options/quote.h"
#include "prof/read/clock.h"
#include "prof/read/find.h"
#include "prof/read/header.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamed = 3;

// What /proc/PID/maps says of each of these files: device and inode, and on file systems that have several of these, the path.
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
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    uint32_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    if (process_start_time(pid) < start_time) continue;
    std::ifstream maps(entry.path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      if (!files.has(line)) continue;
      found.insert(pid);
      break;
    }
  }
  return found;
}

}  // namespace

// A process that is about to begin its profile is found by the one or by the other: /proc is looked at first. If that shows
// that the run has grown, others may have been forked by those that are new.
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
