// prof.samples: where the time of a program's processes went, as samples of the unprofiled program tell; with the
// contexts in which they were taken.
//
// A sample is taken each time a thread has had a processor for one more period. It is credited to the address that the
// thread was at: to a module (an executable file, a library) and an offset in that file, which does not depend on where
// a process loaded it. So the samples of all threads and processes add up to one histogram for each module.
//
// The file is JSON; prof(5) describes it. It is read as every other file is: nothing in it is believed.

#ifndef PROF_SAMPLE_SAMPLES_H
#define PROF_SAMPLE_SAMPLES_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "prof/unwind/chain.h"
#include "timeline.h"

namespace prof {

// The contexts in which samples were taken: a tree of the calls that led there (prof/unwind/chain.h), laid over each
// other as samples come.

// An instruction in a context: one at which samples were taken, or one that called.
struct ChainNode {
  uint32_t parent = 0;            // index, less than the node's own
  FramePlace place = {};          // its module is an index into Samples::modules; of the root meaningless
  uint64_t user = 0, kernel = 0;  // samples that were taken here, and in what the kernel did for it
};

// Finds nodes again while samples are added: by the caller and the place.
using ChainIndex = std::map<std::pair<uint32_t, FramePlace>, uint32_t>;

class SampledChains {
 public:
  // One sample, which counts as so many. `frames`: the innermost first. `index`: of all that were added so far. Returns
  // the index of the node that has it.
  uint32_t add(const std::vector<FramePlace>& frames, uint64_t count, bool in_kernel, ChainIndex& index);
  void count(ChainEnd end, uint64_t chains = 1) { ends_[unsigned(end)] += chains; }

  // One more, from a file. `node.parent` is one of those that are there.
  void append(const ChainNode& node) { nodes_.push_back(node); }
  // Gives modules other numbers. Nothing can be added after that.
  void renumber(const std::vector<uint32_t>& modules);

  // The first is the root, of which nothing is known.
  const std::vector<ChainNode>& nodes() const { return nodes_; }
  uint64_t ended(ChainEnd end) const { return ends_[unsigned(end)]; }
  bool is_empty() const { return nodes_.size() == 1; }

 private:
  std::vector<ChainNode> nodes_ = {ChainNode()};
  std::array<uint64_t, kChainEnds> ends_ = {};
};

// A file with code that was mapped, or what the kernel calls in brackets: [vdso]. [anonymous] is memory of no file,
// [unknown] none that is known.
struct SampledModule {
  std::string path;
  std::string build_id = {};                 // raw bytes; empty if it has none or could not be read
  std::map<uint64_t, uint64_t> counts = {};  // samples by offset in the file

  bool is_file() const { return !path.empty() && path[0] != '['; }
  // Elsewhere addresses mean nothing once the process is gone, and are 0.
  bool has_offsets() const { return is_file() || path == "[vdso]"; }
};

struct SampledThread {
  uint32_t process = 0, thread = 0;
  std::string name;               // the last that it had
  uint64_t user = 0, kernel = 0;  // samples
};

struct Samples {
  std::string program;                 // absolute path
  std::vector<std::string> arguments;  // the first is the program's name
  uint64_t period = 0;                 // nanoseconds of the program itself from one sample to the next
  bool has_kernel = false;             // samples were taken in the kernel too
  uint64_t user = 0, kernel = 0;       // samples: all of the modules' counts, and those in the kernel
  uint64_t lost = 0;                   // samples that are known to be missing
  double weight = 1;                   // how many samples came at once, on average over all samples
  // Nanoseconds, as the kernel's accounts say of the program and its children, without what profiling took of them; and
  // that.
  uint64_t user_time = 0, system_time = 0, cost = 0;
  std::optional<int> status = 0;  // how the program ended, as from waitpid; none if it had not
  std::vector<SampledModule> modules;
  std::vector<SampledThread> threads;
  std::vector<uint32_t> outlived_by = {};  // processes that went on when no more samples were taken
  SampledChains chains = {};               // empty if none were taken
  SampleTimes times = {};                  // of those with chains

  // Sets the two times from those of the accounts, of which `cost` is a part.
  void set_times(uint64_t whole_user, uint64_t whole_system);
};

// Writes to a new file. Throws Error if it cannot be written.
void write_samples(const Samples& samples, int fd, const std::string& path);

// Puts a file that only the user can read in the place of what is at `path`. Whoever looks there meanwhile finds one or
// the other. Throws Error if it cannot be written.
void replace_samples(const Samples& samples, const std::string& path);

// Whether a file looks like one of samples, whatever else is in it.
bool is_samples_file(const std::string& path);

// Where prof run --type auto leaves the samples of the run that a profile is of: beside the profile.
std::string samples_beside(const std::string& profile);

// Of words that a shell made of prof.*: without the samples of profiles that are named as well, and without what a
// prof run that was killed while it wrote them has left.
std::vector<std::string> without_samples(std::vector<std::string> paths);

// Throws Error if the file cannot be read or is no such file.
Samples read_samples(const std::string& path);

}  // namespace prof

#endif
