#include "perf_ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace prof {

namespace {

// What ordinary users may lock for each processor is 516 KiB: the page of the head and 512 KiB behind it.
constexpr uint64_t kMostPages = 128, kFewestPages = 4;

int open_event(pid_t process, int processor, const PerfSettings& settings) {
  perf_event_attr a;
  std::memset(&a, 0, sizeof a);
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_CPU_CLOCK;
  a.sample_period = settings.period;
  a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  a.disabled = a.enable_on_exec = 1;
  a.inherit = 1;
  a.exclude_kernel = !settings.with_kernel;
  a.exclude_hv = 1;
  a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
  a.sample_id_all = 1;
  a.watermark = 1;
  a.wakeup_watermark = 64 << 10;
  return int(syscall(SYS_perf_event_open, &a, process, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

int PerfRing::open(pid_t process, int processor, const PerfSettings& settings) {
  fd_ = open_event(process, processor, settings);
  return fd_ < 0 ? errno : map_memory();
}

int PerfRing::map_memory() {
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  int error = 0;
  for (uint64_t pages = kMostPages; pages >= kFewestPages; pages /= 2) {
    void* memory = mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory != MAP_FAILED) {
      page_ = static_cast<perf_event_mmap_page*>(memory);
      size_ = pages * page;
      return 0;
    }
    error = errno;
  }
  return error;
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), page_(std::exchange(other.page_, nullptr)), size_(other.size_) {}

PerfRing::~PerfRing() {
  if (page_) munmap(page_, size_ + uint64_t(sysconf(_SC_PAGESIZE)));
  if (fd_ >= 0) close(fd_);
}

void PerfRing::start() { ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0); }

void PerfRing::stop() { ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0); }

void PerfRing::read(const std::function<void(const perf_event_header&, std::string_view)>& take) {
  const uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  const char* buffer = reinterpret_cast<const char*>(page_) + sysconf(_SC_PAGESIZE);
  // A record may end at the beginning of the buffer.
  auto copy = [&](void* to, uint64_t at, uint64_t size) {
    const uint64_t from = at & (size_ - 1), first = std::min(size, size_ - from);
    std::memcpy(to, buffer + from, first);
    std::memcpy(static_cast<char*>(to) + first, buffer, size - first);
  };
  std::string bytes;
  uint64_t tail = page_->data_tail;
  while (tail < head) {
    perf_event_header header;
    copy(&header, tail, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) break;  // the kernel writes no such thing
    bytes.resize(header.size - sizeof header);
    copy(bytes.data(), tail + sizeof header, bytes.size());
    take(header, bytes);
    tail += header.size;
  }
  __atomic_store_n(&page_->data_tail, head, __ATOMIC_RELEASE);
}

int may_sample(PerfSettings& settings) {
  for (bool with_kernel : {true, false}) {
    settings.with_kernel = with_kernel;
    const int fd = open_event(getpid(), -1, settings);
    // Events for all processors at once cannot be inherited and mapped, but may be opened.
    if (fd >= 0) {
      close(fd);
      return 0;
    }
    if (errno != EACCES && errno != EPERM) break;
  }
  return errno;
}

}  // namespace prof
