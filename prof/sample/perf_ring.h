// One perf event: the samples of a process and all that it starts, as far as they are taken on one processor. See
// perf_event_open(2).

#ifndef PROF_SAMPLE_PERF_RING_H
#define PROF_SAMPLE_PERF_RING_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace prof {

struct PerfSettings {
  uint64_t period = 0;  // nanoseconds on a processor
  bool with_kernel = false;
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

  // Calls `take` with each record that is there. The bytes behind the header are valid as long as the call lasts, and
  // as many as the header says.
  void read(const std::function<void(const perf_event_header&, std::string_view bytes)>& take);

 private:
  int map_memory();

  int fd_ = -1;
  perf_event_mmap_page* page_ = nullptr;  // the buffer is behind it
  uint64_t size_ = 0;                     // bytes of the buffer, a power of two
};

// Whether this process may sample its children: 0, or the errno value that says why not. Sets with_kernel.
int may_sample(PerfSettings& settings);

}  // namespace prof

#endif
