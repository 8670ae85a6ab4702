#include "find.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "error.h"
#include "file.h"
#include "header.h"
#include "linker-rewrite/text/numbers.h"

namespace prof {

using prof_format::Header;

std::vector<std::string> profiles_in(const std::string& directory, std::optional<uint32_t> pid) {
  DIR* dir = opendir(directory.c_str());
  if (!dir) throw Error(directory + ": " + system_error(errno));
  // Sorted by the time of the start. The time of modification does not tell: stores through a mapping change it late
  // or never, and copying the file changes it.
  std::vector<std::pair<uint64_t, std::string>> found;
  while (const dirent* entry = readdir(dir)) {
    if (std::strncmp(entry->d_name, "prof.", 5) != 0) continue;
    const std::string path = directory == "." ? entry->d_name : directory + "/" + entry->d_name;
    Header header{};
    if (peek_at_header(path, header) && (!pid || header.pid == *pid)) found.emplace_back(header.realtime_start, path);
  }
  closedir(dir);
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [start, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> leave_out_earlier_processes(std::vector<std::string>& paths) {
  Header last{};
  for (const std::string& path : paths) {
    Header header{};
    if (peek_at_header(path, header) && header.realtime_start >= last.realtime_start) last = header;
  }
  const size_t left_out = std::erase_if(paths, [&](const std::string& path) {
    Header header{};
    return peek_at_header(path, header) && (header.start_time != last.start_time ||
                                            std::memcmp(header.boot_id, last.boot_id, sizeof last.boot_id) != 0);
  });
  if (left_out == 0) return {};
  return {"the number " + std::to_string(last.pid) + " was that of several processes: " + paths.back() +
          " is of the last one, " + prof_text::count_of(left_out, "profile") + " of others left out"};
}

FoundProfile newest_profile(const std::string& directory, std::optional<uint32_t> pid) {
  std::vector<std::string> paths = profiles_in(directory, pid);
  if (paths.empty()) return {};
  if (!pid) {
    Header newest{};
    if (peek_at_header(paths.back(), newest)) paths = profiles_in(directory, newest.pid);
  }
  std::vector<std::string> remarks = leave_out_earlier_processes(paths);
  return {paths.back(), std::move(remarks)};
}

namespace {

// The profile that a running process has mapped, as /proc tells (proc_pid_maps(5)); "" if there is none, or if we may
// not see it. A process in a container knows the file by another path than we do.
std::string mapped_profile(uint32_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t start = line.find('/');
    if (start == std::string::npos || !base_name(line).starts_with("prof.")) continue;
    const std::string path = line.substr(start);
    for (const std::string& seen : {path, process + "/root" + path}) {
      Header header{};
      if (peek_at_header(seen, header) && header.pid == pid) return seen;
    }
  }
  return "";
}

}  // namespace

FoundProfile find_profile(const std::string& subject) {
  uint32_t pid = 0;
  const char* const end = subject.data() + subject.size();
  if (const auto [at, error] = std::from_chars(subject.data(), end, pid); error != std::errc() || at != end)
    return {subject, {}};
  const char* directory = std::getenv("PROFDIR");
  for (const std::string& where : {std::string("."), std::string(directory ? directory : "")}) {
    if (where.empty()) continue;
    if (FoundProfile found = newest_profile(where, pid); !found.path.empty()) return found;
    const std::string path = where + "/prof." + subject;
    if (access(path.c_str(), R_OK) != 0 && errno == EACCES) throw Error(path + ": " + system_error(EACCES));
  }
  if (std::string path = mapped_profile(pid); !path.empty()) return {path, {}};
  const bool exists = kill(pid_t(pid), 0) == 0 || errno != ESRCH;
  throw Error((exists ? "no profile of process " : "there is no process ") + subject +
              (exists ? " in" : ", and no profile of it in") + " the current directory or $PROFDIR");
}

using prof_format::Header;

namespace {

bool are_of_one_boot(const Header& a, const Header& b) {
  return std::memcmp(a.boot_id, b.boot_id, sizeof a.boot_id) == 0;
}

// Nanoseconds since the epoch. A process that was killed may have lived on after its last sign of life, so it has none.
std::optional<uint64_t> end_of(const Header& h) {
  if (!(h.flags & prof_format::kEnded) || h.ns_end < h.ns_start) return {};
  return h.realtime_start + (h.ns_end - h.ns_start);
}

// A forked child may begin its profile long after the end of its parent, as daemons do; it knows which process that
// was.
bool may_be_parent(const Header& parent, const Header& child) {
  if (child.parent_start_time != 0)
    return are_of_one_boot(parent, child) && parent.start_time == child.parent_start_time;
  const std::optional<uint64_t> end = end_of(parent);
  return are_of_one_boot(parent, child) && parent.realtime_start <= child.realtime_start &&
         (!end || child.realtime_start <= *end);
}

}  // namespace

Runs::Runs(const std::string& directory) {
  for (std::string& path : profiles_in(directory)) {
    Entry entry{std::move(path), {}};
    if (peek_at_header(entry.path, entry.header)) entries_.push_back(std::move(entry));
  }
  find_parents();
}

void Runs::find_parents() {
  std::map<uint32_t, std::vector<size_t>> by_pid;  // of the entries so far
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const Header& h = entry.header;
    entry.process = i;
    for (const size_t other : by_pid[h.pid])
      if (entries_[other].header.start_time == h.start_time && are_of_one_boot(entries_[other].header, h)) {
        entry.process = entries_[other].process;
        break;
      }
    entry.parent = entries_[entry.process].parent;
    const std::vector<size_t>& parents = by_pid[h.parent_pid];
    if (entry.process == i && h.parent_pid != h.pid) {
      const auto at = std::find_if(parents.rbegin(), parents.rend(),
                                   [&](size_t p) { return may_be_parent(entries_[p].header, h); });
      if (at != parents.rend()) entry.parent = entries_[*at].process;
    }
    by_pid[h.pid].push_back(i);
  }
}

size_t Runs::index_of(const std::string& path) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.path == path; });
  return at != entries_.end() ? size_t(at - entries_.begin()) : kNone;
}

// Parents stand before their children.
std::vector<std::string> Runs::from(size_t first) const {
  const size_t root = entries_[first].process;
  std::vector<bool> belongs(entries_.size());
  std::vector<std::string> own, others;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    belongs[i] = entry.process == root || (entry.process != i && belongs[entry.process]) ||
                 (entry.parent != kNone && belongs[entry.parent]);
    if (belongs[i]) (entry.process == root ? own : others).push_back(entry.path);
  }
  std::rotate(own.begin(), own.end() - 1, own.end());
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

std::vector<std::string> Runs::run_from(const std::string& path) const {
  const size_t i = index_of(path);
  return i != kNone ? from(i) : std::vector<std::string>();
}

std::vector<std::string> Runs::run_of(const std::string& path) const {
  size_t i = index_of(path);
  if (i == kNone) return {};
  while (entries_[i].parent != kNone) i = entries_[i].parent;
  return from(i);
}

std::vector<std::string> Runs::newest(const std::function<bool(const std::string& path)>& is_meant) const {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (!is_meant(entries_[i].path)) continue;
    size_t first = i;
    while (entries_[first].parent != kNone && is_meant(entries_[entries_[first].parent].path))
      first = entries_[first].parent;
    return from(first);
  }
  return {};
}

}  // namespace prof
