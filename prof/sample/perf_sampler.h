// Samples of a program from outside, by the kernel's perf events.
//
// The program runs as it is: no signal reaches it, no system call of its is interrupted, nothing is in its memory. The
// kernel's clock for each thread (cpu-clock) goes on only while the thread has a processor; whenever it has gone on by
// one period, the kernel notes where the thread is. Threads and children are sampled as the program itself.
//
// There is one event, with a buffer, for each processor, and records of one process may be in several of them. They
// carry the time, by which they are put in order: first come what a process maps, then the samples in it. Buffers are
// emptied in rounds while the program runs. A record that is not older than the newest of the round before may have
// to wait for one that is older and not yet read, so it is kept for the next round. So little is kept, however long
// the program runs: what remains of a sample is one more in a count.
//
// With chains, a sample has the thread's registers and a copy of the top of its stack. They are followed to main's
// caller (prof/unwind/chain.h) as soon as all that was mapped before is known, and are nowhere after that.
//
// A sample costs some time, so that a long run has few in a second, and a short one would have few at all. So at first
// there is a second event for each processor, which comes several times as often, until there are enough; meanwhile the
// samples of the other are left out, and after that each of them counts as so many. (The period of one event cannot be
// changed for the threads that have inherited it; but it can be switched off for all of them.)

#ifndef PROF_SAMPLE_PERF_SAMPLER_H
#define PROF_SAMPLE_PERF_SAMPLER_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "address_spaces.h"
#include "prof/unwind/chain.h"
#include "samples.h"

namespace prof {

// One perf event: the samples of a process and all that it starts, as far as they are taken on one processor. See
// perf_event_open(2).
struct PerfSettings {
  uint64_t period = 0;        // nanoseconds on a processor
  uint64_t early_period = 0;  // the same at first; 0: no other
  bool with_kernel = false;
  bool with_chains = false;
};

class PerfRing {
 public:
  // Begins when the process, a child of this one, calls execve; 0 is the calling thread, which calls start. Returns an
  // errno value, or 0.
  int open(pid_t process, int processor, const PerfSettings& settings);

  PerfRing() = default;
  PerfRing(PerfRing&&) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int descriptor() const { return fd_; }
  void start();
  void stop();

  // The event that comes more often at first, of which there is none if the kernel does not allow one. A sample is of
  // the event with the number that it has.
  bool has_early() const { return early_ >= 0; }
  uint64_t early_number() const { return early_number_; }
  void stop_early();

  // Calls `take` with each record that is there. The bytes after the header are valid as long as the call lasts, and
  // as many as the header says.
  void read(const std::function<void(const perf_event_header&, std::string_view bytes)>& take);

 private:
  int map_memory(uint64_t most_pages);
  void open_early(pid_t process, int processor, const PerfSettings& settings);

  int fd_ = -1, early_ = -1;
  uint64_t early_number_ = 0;
  perf_event_mmap_page* page_ = nullptr;  // the buffer is after it
  uint64_t size_ = 0;                     // bytes of the buffer, a power of two
};

// Whether this process may sample its children: 0, or the errno value that says why not. Sets with_kernel.
int may_sample(PerfSettings& settings);

class PerfSampler {
 public:
  // So many samples for each second on a processor, or as many as the kernel allows; with chains fewer, where these
  // would take more than 1 % of the time, but more of them at first. Throws Error if it allows none; may_sample tells
  // before.
  PerfSampler(unsigned per_second, bool with_chains);

  // Prepares for a child of this process, which is sampled from its next execve on. Throws Error.
  void attach(pid_t process);

  // Takes samples until the process has ended. It is left for others to wait for. Meanwhile, now and then, `keep` is
  // given what was found out so far, as by finish, on another thread; it is called so seldom that it takes 1 % of a
  // processor's time. May be null.
  void watch(pid_t process, const std::function<void(Samples)>& keep);

  // All that was found out but for the program, its times and its status. To be called once.
  Samples finish();

 private:
  struct Record {
    enum class Kind { kSample, kMap, kFork, kThread, kExec, kName, kThreadEnd };
    uint64_t time = 0;
    Kind kind = Kind::kSample;
    bool in_kernel = false;
    bool is_early = false;
    uint32_t process = 0, thread = 0;        // kFork and kThread: the new one's
    uint32_t parent = 0, parent_thread = 0;  // of these: what began it
    uint64_t address = 0;
    AddressSpaces::Mapping mapping = {};
    std::string name = {};                    // of the thread
    std::unique_ptr<ThreadState> state = {};  // with chains; null if it has no user code, as when it ends
    std::string stack = {};                   // what the state's slice is of
  };
  void take(const perf_event_header& header, std::string_view bytes);
  void read_round(bool is_last);
  void read_rings();
  void end_early();
  void apply(const Record& record);
  void count(const Record& sample);
  bool is_of_runtime(const Record& sample);
  void count_chain(const Record& sample, uint64_t weight);
  std::optional<FoundCode> code_at(uint32_t process, uint64_t address);
  Samples so_far();
  uint32_t module(const std::string& path);

  PerfSettings settings_;
  std::vector<PerfRing> rings_;
  std::vector<Record> waiting_;  // not yet applied
  uint64_t newest_ = 0, newest_before_ = 0;
  // While there are early samples, others are not counted. Times are those of records.
  bool is_early_ = false;
  uint64_t early_samples_ = 0, last_early_ = 0;
  uint64_t later_weight_ = 1;           // how many early ones another one counts as
  uint64_t weights_ = 0, squares_ = 0;  // of all that were counted: sums of weights, and of their squares
  uint64_t taken_ = 0, cost_ = 0;       // samples, counted or not; nanoseconds that each takes
  uint64_t of_runtime_ = 0;             // samples that are of profiling, not of the program
  AddressSpaces spaces_;
  std::map<std::string, uint32_t, std::less<>> module_index_;
  std::map<std::pair<uint32_t, uint32_t>, SampledThread> threads_;
  Samples samples_;
  ChainIndex chain_index_;
  Timeline timeline_;                                 // with chains
  std::map<std::string, std::string> build_ids_;      // of modules that have samples
  std::vector<std::unique_ptr<UnwindTable>> tables_;  // by module; null until it is needed
};

}  // namespace prof

#endif
