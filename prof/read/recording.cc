#include "recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cycles.h"
#include "error.h"
#include "file.h"
#include "header.h"
#include "profile.h"

namespace prof {

namespace {

using prof_format::ControlList;
using prof_format::Header;

Recording unusable(const Header& header, const std::string& problem) {
  Recording recording = recording_of_header(header);
  recording.problem = problem;
  return recording;
}

bool is_of_same_process(const ControlList& list, const Header& header) {
  return list.pid == header.pid && list.tsc_start == header.tsc_start && list.realtime_start == header.realtime_start &&
         list.start_time == header.start_time;
}

// A new file under a temporary name. It is removed with this object unless `finish` gave it its own name.
class NewFile {
 public:
  explicit NewFile(const std::string& name)
      : name_(name), path_(name + ".XXXXXX"), fd_(mkostemp(path_.data(), O_CLOEXEC)) {
    if (fd_ < 0) fail();
  }
  NewFile(const NewFile&) = delete;
  ~NewFile() {
    if (fd_ >= 0) close(fd_);
    if (!path_.empty()) unlink(path_.c_str());
  }
  void write(const void* bytes, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t n = ::write(fd_, static_cast<const char*>(bytes) + done, size - done);
      if (n < 0 && errno != EINTR) fail();
      if (n > 0) done += size_t(n);
    }
  }
  void give_to(uid_t user, gid_t group) {
    if (user != geteuid() && fchown(fd_, user, group) != 0) fail();
  }
  void finish() {
    if (rename(path_.c_str(), name_.c_str()) != 0) fail();
    path_.clear();
  }

 private:
  [[noreturn]] void fail() {
    const int error = errno;
    if (fd_ >= 0) unlink(path_.c_str()), close(fd_);
    throw Error(name_ + ": " + system_error(error));
  }

  std::string name_, path_;
  int fd_;
};

}  // namespace

std::string control_list_path(const std::string& profile_path) {
  const size_t slash = profile_path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return profile_path.substr(0, name) + "ctl." + profile_path.substr(name);
}

uint32_t control_word(bool is_on, uint32_t changes) {
  return changes << 1 | (is_on ? uint32_t(prof_format::kRecording) : 0);
}

Recording recording_of_header(const Header& header) {
  Recording recording;
  recording.is_on = header.control & prof_format::kRecording;
  recording.changes = header.control >> 1;
  recording.parts = recording.is_on;
  return recording;
}

Recording parse_control_list(const ReadBytes& read, uint64_t size, const Header& header) {
  ControlList list;
  if (read(&list, sizeof list, 0) < sizeof list) return unusable(header, "is cut off");
  if (std::memcmp(list.magic, prof_format::kControlListMagic, sizeof list.magic) != 0)
    return unusable(header, "was not made by prof ctl");
  if (list.version != prof_format::kControlListVersion || list.byte_order != prof_format::kByteOrder ||
      list.entry_size != sizeof(BlockCounters))
    return unusable(header, "is of a version that this prof does not know, or damaged");
  if (!is_of_same_process(list, header)) return unusable(header, "is that of another process");
  if (size - sizeof list != uint64_t(list.entries) * sizeof(BlockCounters)) return unusable(header, "is cut off");
  if (list.control >> 1 < header.control >> 1) return unusable(header, "is older than the last change");

  Recording recording;
  recording.is_on = list.control & prof_format::kRecording;
  recording.changes = list.control >> 1;
  recording.parts = list.parts;
  // In parts: a file that is a hole of gigabytes is found to be damaged at its second entry, before all is in memory.
  constexpr size_t kAtOnce = 4096;
  for (size_t done = 0; done < list.entries;) {
    const size_t now = std::min<size_t>(list.entries - done, kAtOnce);
    recording.counters.resize(done + now);
    if (read(&recording.counters[done], now * sizeof(BlockCounters), sizeof list + done * sizeof(BlockCounters)) <
        now * sizeof(BlockCounters))
      return unusable(header, "is cut off");
    for (; done < recording.counters.size(); ++done) {
      if (done > 0 && recording.counters[done].block <= recording.counters[done - 1].block)
        return unusable(header, "is damaged");
    }
  }
  return recording;
}

Recording read_recording(const std::string& profile_path, const Header& header) {
  const std::string path = control_list_path(profile_path);
  const bool is_needed = header.control >> 1 != 0;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0) {
    if (!is_needed) return recording_of_header(header);
    return unusable(header, errno == ENOENT ? "is missing" : "cannot be read: " + system_error(errno));
  }
  struct stat status, profile_status;
  Recording recording;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    recording = unusable(header, "is not a regular file");
  } else if (stat(profile_path.c_str(), &profile_status) != 0 || status.st_uid != profile_status.st_uid) {
    recording = unusable(header, "belongs to another user than the profile");
  } else {
    auto read = [&](void* to, uint64_t size, uint64_t offset) { return read_at(file.get(), to, size, offset, path); };
    recording = parse_control_list(read, uint64_t(status.st_size), header);
  }
  // A profile that was never limited needs no list: one that lies there is of an earlier process with the same number.
  if (!is_needed && !recording.problem.empty()) return recording_of_header(header);
  return recording;
}

void write_control_list(const Recording& recording, const std::string& profile_path, const Header& header) {
  struct stat status;
  if (stat(profile_path.c_str(), &status) != 0) throw Error(profile_path + ": " + system_error(errno));
  ControlList list{};
  std::memcpy(list.magic, prof_format::kControlListMagic, sizeof list.magic);
  list.version = prof_format::kControlListVersion;
  list.byte_order = prof_format::kByteOrder;
  list.entry_size = sizeof(BlockCounters);
  list.entries = uint32_t(recording.counters.size());
  list.control = control_word(recording.is_on, recording.changes);
  list.pid = header.pid;
  list.tsc_start = header.tsc_start;
  list.realtime_start = header.realtime_start;
  list.start_time = header.start_time;
  list.parts = recording.parts;
  NewFile file(control_list_path(profile_path));
  file.give_to(status.st_uid, status.st_gid);
  file.write(&list, sizeof list);
  file.write(recording.counters.data(), recording.counters.size() * sizeof(BlockCounters));
  file.finish();
}

namespace {

// Lists have whole numbers.
uint64_t whole(double count) { return uint64_t(std::min(count, 0x1p62)); }
uint64_t whole(RawCycles cycles) { return whole(cycles.count); }

// A node has times, or samples.
BlockCounters counters_in(const RecordedNode& node) {
  return {.calls = node.calls,
          .cycles = whole(node.cycles) + whole(node.own_samples),
          .block = node.block,
          .timed = node.timed,
          .blocked = whole(node.blocked) + whole(node.library_samples),
          .preempted = whole(node.preempted) + whole(node.kernel_samples)};
}

// What a list has of a block; zeros if nothing.
BlockCounters counters_of(const std::vector<BlockCounters>& list, Block block) {
  const auto at =
      std::lower_bound(list.begin(), list.end(), block, [](const BlockCounters& c, Block b) { return c.block < b; });
  return at != list.end() && at->block == block ? *at : BlockCounters{};
}

// Calls `change` with the counters of each block and with what a list has of it.
template <class Change>
void change_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list,
                     Change change) {
  auto apply = [&](Block block, BlockCounters counters) {
    change(counters, counters_of(list, block));
    return counters;
  };
  const BlockCounters process = apply(0, {calls.lost, calls.cycles});
  calls.lost = process.calls;
  calls.cycles = process.cycles;
  for (Thread& thread : calls.threads) {
    const BlockCounters found =
        apply(thread.block, {thread.lost, thread.hook_samples, thread.block, 0, thread.sample_signals});
    thread.lost = found.calls;
    thread.hook_samples = found.cycles;
    thread.sample_signals = found.timed;
    for (std::vector<RecordedNode>* nodes : {&thread.nodes, &thread.addresses}) {
      for (RecordedNode& node : *nodes) {
        if (!is_possible_count(node.calls)) continue;
        const BlockCounters c = apply(node.block, counters_in(node));
        node.calls = c.calls;
        node.timed = c.timed;
        const double of_list[] = {double(c.cycles), double(c.blocked), double(c.preempted)};
        if (is_sampled(header)) {
          node.own_samples = of_list[0], node.library_samples = of_list[1], node.kernel_samples = of_list[2];
        } else {
          node.cycles = {of_list[0]}, node.blocked = {of_list[1]}, node.preempted = {of_list[2]};
        }
      }
    }
  }
}

// Makes the times of all nodes possible again: a list may be damaged.
void bound_times(Calls& calls, const prof_format::Header& header) {
  const bool is_estimated = header.type == prof_format::kAdaptive;
  for (Thread& thread : calls.threads) {
    for (RecordedNode& address : thread.addresses)
      address.own_samples = double(samples_of(whole(address.own_samples)).count);
    if (thread.nodes.empty()) continue;
    const SelfTimeLimit limit(header, thread.end);
    const RawCycles lived{thread.end > thread.start ? double(thread.end - thread.start) : 0};
    const RawCycles all = std::min(lived, thread.nodes[0].cycles), longest_wait{double(thread.waited)};
    for (RecordedNode& node : thread.nodes) {
      node.variance = 0;
      if (is_sampled(header)) {
        for (double* samples : {&node.own_samples, &node.library_samples, &node.kernel_samples})
          *samples = double(samples_of(whole(*samples)).count);
      } else if (is_estimated) {
        node.cycles = std::min(node.cycles, all);
      } else {
        const SelfTime self = limit.of(whole(node.cycles));
        node.cycles = {double(self.cycles)};
        node.has_impossible_time |= !self.is_possible;
        node.blocked = std::min(node.blocked, longest_wait);
        node.preempted = std::min(node.preempted, longest_wait);
      }
    }
  }
}

bool has_counted(const RecordedNode& node) {
  const bool has_cycles = (node.cycles + node.blocked + node.preempted).count != 0;
  return node.calls != 0 || has_cycles || node.own_samples + node.library_samples + node.kernel_samples != 0;
}

// Takes the nodes that are not kept out of a tree.
void leave_out(std::vector<RecordedNode>& nodes, const std::vector<bool>& kept) {
  std::vector<uint32_t> place(nodes.size() + 1);  // of each node, or of the first that is kept after it
  for (size_t i = 0; i < nodes.size(); ++i) place[i + 1] = place[i] + kept[i];
  for (RecordedNode& node : nodes) {
    const uint32_t first = node.first_child, end = first + node.child_count;
    node.first_child = place[first];
    node.child_count = place[end] - place[first];
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (kept[i]) nodes[place[i]] = nodes[i];
  nodes.resize(place.back());
}

}  // namespace

std::vector<BlockCounters> list_counters(const Calls& calls) {
  std::vector<BlockCounters> list;
  auto add = [&](const BlockCounters& counters) {
    if (counters.calls || counters.cycles || counters.blocked || counters.preempted) list.push_back(counters);
  };
  add({calls.lost, calls.cycles});
  for (const Thread& thread : calls.threads) {
    add({thread.lost, thread.hook_samples, thread.block, 0, thread.sample_signals});
    for (const std::vector<RecordedNode>* nodes : {&thread.nodes, &thread.addresses})
      for (const RecordedNode& node : *nodes)
        if (is_possible_count(node.calls)) add(counters_in(node));
  }
  std::sort(list.begin(), list.end(), [](const BlockCounters& a, const BlockCounters& b) { return a.block < b.block; });
  return list;
}

void subtract_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list) {
  change_counters(calls, header, list, [](BlockCounters& counters, const BlockCounters& listed) {
    counters.calls -= std::min(counters.calls, listed.calls);
    counters.cycles -= std::min(counters.cycles, listed.cycles);
    counters.timed -= std::min(counters.timed, listed.timed);
    counters.blocked -= std::min(counters.blocked, listed.blocked);
    counters.preempted -= std::min(counters.preempted, listed.preempted);
  });
  bound_times(calls, header);
}

void replace_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list) {
  change_counters(calls, header, list, [](BlockCounters& counters, const BlockCounters& listed) { counters = listed; });
  bound_times(calls, header);
}

void leave_out_empty_nodes(Calls& calls) {
  for (const Thread& thread : calls.threads)
    for (const RecordedNode& node : thread.nodes)
      if (node.children == RecordedNode::Children::broken) return;
  for (Thread& thread : calls.threads) {
    std::vector<RecordedNode>& nodes = thread.nodes;
    std::vector<bool> kept(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      kept[i] = i == 0 || has_counted(nodes[i]);
      const uint32_t first = nodes[i].first_child;
      for (uint32_t c = first; c < first + nodes[i].child_count && !kept[i]; ++c) kept[i] = kept[c];
    }
    if (!nodes.empty()) leave_out(nodes, kept);
  }
}

}  // namespace prof
