// A profile as it lies on disk: a bounds-checked view of prof.<pid>.
//
// The program that wrote the file may have been killed in the middle of a store, may still be running, or may have
// been somebody with a hex editor; and the disk may have lost half of it. So nothing in it is believed: every block
// number is checked against the part of the file that was read, lists end at the first block that was seen before,
// and what cannot be read is described in `damage` while the rest is kept.
//
// The file is read, not mapped: a mapping of a file that shrinks is a SIGBUS, and the nodes of a running program would
// change between two looks at them.
//
// A running program links what it makes once that is complete, and nothing else of a link's target ever changes but
// figures and links to what is newer still. But reading takes time, and copies blocks in whatever order the kernel
// likes: a link may be read that was stored a moment ago, and its target as it was before. So the file of a program
// that may run is read twice, one after the other. What the links to children of the first reading lead to was complete
// before the second began. So these links are kept, with all else of the second reading, and the tree is that of a
// moment between; what was linked since is left out. (The link to a sibling is stored before a node is linked itself,
// and leads to what was linked before.)

#ifndef PROF_READ_PROFILE_H
#define PROF_READ_PROFILE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "libprof/format/format.h"
#include "limit.h"

namespace prof {

using prof_format::Block;

struct Module {
  std::string path;      // as the program saw it
  std::string build_id;  // raw bytes; empty if unknown
  uint64_t bias = 0;     // run-time address - address in the file
  uint64_t start = 0, end = 0;
};

struct Thread {
  Block block = 0;
  uint32_t tid = 0;
  Block root = 0;
  uint64_t lost = 0;            // calls that found no node
  uint64_t start = 0, end = 0;  // time stamps, by its own clock: in between it is known to have run
  Block frames = 0;             // the stack that it was on
  Block stacks = 0;             // the newest of its stacks
  Block running = 0;            // the node of its top frame; 0 if that is not known
  uint64_t since = 0;           // cycles from its last hook to `end`, which are that node's but not yet in it
  std::string name;             // as the program or pthread_setname_np set it
};

class Profile {
 public:
  // Throws Error if `path` cannot be read or is no profile that this program understands. What was recorded while
  // recording was off is left out.
  static Profile read(const std::string& path);

  // The same with all that is in it.
  static Profile read_whole(const std::string& path);

  const std::string& path() const { return path_; }
  const prof_format::Header& header() const { return header_; }
  const std::vector<Module>& modules() const { return modules_; }  // the first is the program itself
  const std::vector<Thread>& threads() const { return threads_; }  // oldest first
  Block blocks() const { return blocks_; }                         // blocks that were read; numbers below it are valid

  // The node in a block, or null if no node can be there. The pointer lives as long as the profile.
  const prof_format::Node* node(Block block) const { return structure<prof_format::Node>(block); }

  // What was done to limit it, without figures.
  const Limit& limit() const { return limit_; }

  // Time-stamp cycles for which the process has run, as far as is known, and for which recording was on. 0 if it could
  // not read the counter.
  uint64_t lifetime() const { return lifetime_; }
  uint64_t recorded() const { return recorded_; }

  // The frames in a block, with all that lie behind the structure, or null if no frames can be there.
  const prof_format::FrameChunk* frames(Block block) const;

  // Estimates (estimate.h) were worked out already, and are in the nodes' `cycles`.
  bool has_plain_estimates() const { return has_plain_estimates_; }

  // A node's time could not be, when its numbers were made plain ones (figures.h).
  bool has_impossible_time(Block block) const { return impossible_times_.contains(block); }

  // The process that writes it still runs, on this machine.
  bool live() const { return live_; }

  // The arguments with spaces between, as far as they were recorded.
  std::string command_line() const;

  // The same profile for each of its threads alone; those that made no calls are left out unless they are all.
  std::vector<Profile> by_thread() const;

  // What could not be read, one phrase each ("its list of threads is broken").
  const std::vector<std::string>& damage() const { return damage_; }

 private:
  friend class Figures;
  Profile() = default;
  // So many blocks from the start of the file, as they were read.
  struct Blocks {
    std::shared_ptr<char[]> bytes;
    Block count = 0;
  };
  void load(int fd);
  Blocks read_blocks(int fd, uint64_t file_size);
  void take_links(const Blocks& earlier);
  void find_modules();
  void find_threads(int fd);
  void find_lifetime();
  uint64_t until_when(const prof_format::Thread& thread, uint64_t last_tsc) const;
  Block running_node(Block stack) const;

  // The structure T that starts at a block, or null unless all of it was read and it lies behind the header.
  template <class T>
  const T* structure(Block block) const {
    if (block < header_blocks_ || uint64_t(block) + sizeof(T) / PROF_BLOCK_SIZE > blocks_) return nullptr;
    return reinterpret_cast<const T*>(bytes_.get() + uint64_t(block) * PROF_BLOCK_SIZE);
  }

  std::string path_;
  prof_format::Header header_{};
  std::shared_ptr<char[]> bytes_;
  Block header_blocks_ = 0;
  Block blocks_ = 0;
  bool live_ = false;
  bool has_plain_estimates_ = false;
  std::unordered_set<Block> impossible_times_;
  uint64_t read_tsc_ = 0;  // time stamp
  uint64_t lifetime_ = 0, recorded_ = 0;
  Limit limit_;
  std::vector<Module> modules_;
  std::vector<Thread> threads_;
  std::vector<std::string> damage_;
};

// The header of a profile. Throws Error as Profile::read.
prof_format::Header read_header(const std::string& path);

// The first bytes of a file tell a profile from a program.
enum class FileKind { kProfile, kElf, kOther };

// Throws Error if the file cannot be opened or is not a regular file.
FileKind kind_of_file(const std::string& path);

// The profiles prof.* in `directory` (regular files with the magic only), or those of them that process `pid` wrote, in
// order of their processes' starts.
std::vector<std::string> profiles_in(const std::string& directory, std::optional<uint32_t> pid = {});

// Of profiles of processes that had one number, one after the other, takes out those that are not of the last one, and
// says so. A process that ran several programs, by execve, is one.
void leave_out_earlier_processes(std::vector<std::string>& paths);

// The last of those in `directory`; "" if there is none. Says so if there are others of earlier processes with its
// number.
std::string newest_profile(const std::string& directory, std::optional<uint32_t> pid = {});

// The profile that a user means by the number of a process (the last one of it here, or in $PROFDIR) or by its path.
// Throws Error if there is none of the process.
std::string find_profile(const std::string& subject);

}  // namespace prof

#endif
