// A profile, decoded: what prof.<pid> says, in structures of the reader's own. The file's bytes (snapshot.h) are looked
// at once, when it is read, and not kept.
//
// Lists end at the first block that was seen before. What cannot be read is described in `damage`, and the rest is
// kept.

#ifndef PROF_READ_PROFILE_H
#define PROF_READ_PROFILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cycles.h"
#include "durations.h"
#include "libprof/format/format.h"
#include "recording.h"

namespace prof {

using prof_format::Block;

// Where in a profile the skeleton of a module's file is: skeleton.h.
struct SkeletonPlace {
  std::string profile;       // path
  uint64_t offset = 0;       // in the file
  uint64_t packed_size = 0;  // bytes that are there
  uint64_t size = 0;         // bytes that they say they are, unpacked
};

struct Module {
  std::string path;      // as the program saw it
  std::string build_id;  // raw bytes; empty if unknown
  uint64_t bias = 0;     // run-time address - address in the file
  uint64_t start = 0, end = 0;
  Block block = 0;                             // where it lay
  std::optional<SkeletonPlace> skeleton = {};  // if prof run appended one
};

// One function in one context of one thread. (The calling context tree of all threads, model/tree/tree.h, is built of
// these.)
struct RecordedNode {
  // Whether the list of its children could be read to its end.
  enum class Children : uint8_t { whole, cut_off, broken };  // cut_off: it leads out of the file

  uint64_t pc = 0;  // 0 in a root
  uint64_t calls = 0;
  // Self time, up to when the thread ended or the profile was read; of PROFTYPE=adaptive an estimate of the inclusive
  // time, at most the thread's.
  RawCycles cycles;
  double variance = 0;  // of an estimate; cycles^2
  // Apart from these: its thread was off its processor, of its own wish, or because another got it.
  RawCycles blocked, preempted;
  // PROFTYPE=sample has no cycles, but samples: of the function itself, of libraries that it called, and of the kernel.
  double own_samples = 0, library_samples = 0, kernel_samples = 0;
  double sample_weight = 1;  // how many of them came at once, on average over all
  uint64_t timed = 0;        // PROFTYPE=adaptive: calls that were timed
  Block block = 0;           // where it lay; siblings in order of their first calls have ascending blocks
  uint32_t first_child = 0, child_count = 0;  // in Thread::nodes
  Children children = Children::whole;
  bool is_tail_call = false;         // reached by jumps from its parent, which had ended
  bool is_sought_call = false;       // by jumps whose end the runtime had to find out, which takes longer
  bool has_impossible_time = false;  // `cycles` is the nearest possible time (cycles.h)
};

struct Thread {
  Block block = 0;
  uint32_t tid = 0;
  std::string name;                                 // as the program or pthread_setname_np set it
  uint64_t lost = 0;                                // calls that found no node
  uint64_t start = 0, end = 0;                      // time stamps, by its own clock: in between it is known to have run
  uint64_t lived_until = 0;                         // the same as `end`, but a stamp of the counter
  uint64_t waited = 0;                              // cycles off its processor, if the profile has these
  uint64_t blocked_times = 0, preempted_times = 0;  // how often it was taken off, of its own wish and without
  // PROFTYPE=sample: samples that are in no node, and how many signals brought all of them.
  uint64_t hook_samples = 0, sample_signals = 0;
  uint64_t hook_cycles = 0;  // of hooks that leave: what they took

  // The root first, parents before their children, the children of a node one after the other in order of their first
  // calls. Empty if the root could not be read.
  std::vector<RecordedNode> nodes;

  // How long the calls that have ended lasted. Empty if the profile has no durations, or prof ctl has limited what is
  // recorded, which they do not know of.
  std::vector<DurationsAt> durations;
  bool shares_durations = false;  // some of them are of calls of other threads, or theirs have some of its calls

  // PROFTYPE=sample: a root and below it the addresses that samples found outside the kernel, as `pc`, with
  // `own_samples`; those of the root found no room. Empty if there are none.
  std::vector<RecordedNode> addresses;
};

// What prof ctl can leave out of a profile.
struct Calls {
  std::vector<Thread> threads;  // oldest first
  uint64_t lost = 0;            // calls that were made in no known thread, and are in no node
  uint64_t cycles = 0;          // time-stamp cycles for which recording was on, as far as is known
};

// What was counted in the basic blocks of a module, all threads together.
struct ModuleCounters {
  uint32_t module = 0;  // index in Profile::modules()
  std::vector<uint64_t> words;
  std::vector<uint64_t> locked;  // how many of these increments were, where that depends on the process; may be shorter
  bool lock_failed = false;      // some may be missing, as others counted at the same time
};

class Profile {
 public:
  // Throws Error if `path` cannot be read or is no profile that this program understands. What was recorded while
  // recording was off is left out. How long calls lasted is read if that is asked for.
  static Profile read(const std::string& path, bool with_durations = false);

  // The same with all that is in it.
  static Profile read_whole(const std::string& path, bool with_durations = false);

  const std::string& path() const { return path_; }
  const prof_format::Header& header() const { return header_; }    // as it was in the file
  const std::vector<Module>& modules() const { return modules_; }  // the first is the program itself
  const Calls& calls() const { return calls_; }
  const std::vector<Thread>& threads() const { return calls_.threads; }  // oldest first

  // Of modules that profld -b rewrote. prof ctl does not limit it.
  const std::vector<ModuleCounters>& counters() const { return counters_; }

  // Calls that are in no node, those of threads that are known included; contexts that were folded onto others.
  uint64_t lost() const;
  uint64_t folded() const { return folded_; }
  // Of the calls that have ended, those whose durations found no room.
  uint64_t lost_durations() const { return lost_durations_; }

  // What prof ctl did to limit it, without the counters.
  const Recording& recording() const { return recording_; }

  // Time-stamp cycles for which the process has run, as far as is known, and for which recording was on. 0 if it could
  // not read the counter.
  uint64_t lifetime() const { return lifetime_; }
  uint64_t recorded() const { return calls_.cycles; }

  // The process that writes it still runs, on this machine.
  bool is_live() const { return is_live_; }

  // The arguments with spaces between, as far as they were recorded.
  const std::string& command_line() const { return command_line_; }

  // A profile for each of the threads of one; those that made no calls are left out, and durations of several threads.
  // Throws Error if there are none.
  static std::vector<Profile> by_thread(Profile profile);

  // What could not be read, one phrase each ("its list of threads is broken").
  const std::vector<std::string>& damage() const { return damage_; }

 private:
  Profile() = default;

  std::string path_;
  prof_format::Header header_{};
  bool is_live_ = false;
  uint64_t lifetime_ = 0;
  uint64_t folded_ = 0, lost_durations_ = 0;
  std::string command_line_;
  Recording recording_;
  std::vector<Module> modules_;
  Calls calls_;
  std::vector<ModuleCounters> counters_;
  std::vector<std::string> damage_;
};

}  // namespace prof

#endif
