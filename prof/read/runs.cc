#include "runs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "find.h"
#include "header.h"

namespace prof {

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

// A forked child may begin its profile long after the end of its parent, as daemons do; it knows which process that was.
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
