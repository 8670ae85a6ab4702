#include "perf_sampler.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof {

namespace {

// What ordinary users may lock for each processor is 516 KiB: the page of the head and 512 KiB after it. Copies of
// stacks need more, so it is tried.
constexpr uint64_t kMaxPages = 128, kMinPages = 4, kPagesForStacks = 512;

// Bytes of a stack that are copied. A copy takes about 3 us. A multiple of 8, less than 64K.
constexpr uint32_t kMaxStack = 32 << 10;

// What a sample has of the registers: all but segments and flags, by their numbers in <asm/perf_regs.h>, in their
// order; and which these are in DWARF.
constexpr uint64_t kSampledRegisters = 0xff01ff;
constexpr uint8_t kNumbersInDwarf[] = {0, 3, 2, 1, 4, 5, 6, 7, kReturnAddress, 8, 9, 10, 11, 12, 13, 14, 15};

enum class EventKind {
  kSteady,  // tells what is mapped and begun, too
  kEarly,   // comes more often, and has its samples in the buffer of the other
};

int open_event(pid_t process, int processor, const PerfSettings& settings, EventKind kind = EventKind::kSteady) {
  perf_event_attr a;
  std::memset(&a, 0, sizeof a);
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_CPU_CLOCK;
  a.sample_period = kind == EventKind::kEarly ? settings.early_period : settings.period;
  a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  if (settings.with_chains) {
    a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    a.sample_regs_user = kSampledRegisters;
    a.sample_stack_user = kMaxStack;
  }
  a.disabled = a.enable_on_exec = 1;
  a.inherit = 1;
  a.exclude_kernel = !settings.with_kernel;
  a.exclude_hv = 1;
  a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = kind == EventKind::kSteady;
  a.sample_id_all = 1;
  // To wake the reader costs the program 35 us on a virtual machine, as much as the sample; so the buffer is read when
  // it is half full, which is what 0 means.
  a.watermark = 1;
  a.wakeup_watermark = 0;
  return int(syscall(SYS_perf_event_open, &a, process, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

int PerfRing::open(pid_t process, int processor, const PerfSettings& settings) {
  fd_ = open_event(process, processor, settings);
  if (fd_ < 0) return errno;
  const int error = map_memory(settings.with_chains ? kPagesForStacks : kMaxPages);
  if (error == 0 && settings.early_period) open_early(process, processor, settings);
  return error;
}

void PerfRing::open_early(pid_t process, int processor, const PerfSettings& settings) {
  early_ = open_event(process, processor, settings, EventKind::kEarly);
  if (early_ < 0) return;
  if (ioctl(early_, PERF_EVENT_IOC_SET_OUTPUT, fd_) != 0 || ioctl(early_, PERF_EVENT_IOC_ID, &early_number_) != 0)
    close(std::exchange(early_, -1));
}

int PerfRing::map_memory(uint64_t most_pages) {
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  int error = 0;
  for (uint64_t pages = most_pages; pages >= kMinPages; pages /= 2) {
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
    : fd_(std::exchange(other.fd_, -1)),
      early_(std::exchange(other.early_, -1)),
      early_number_(other.early_number_),
      page_(std::exchange(other.page_, nullptr)),
      size_(other.size_) {}

PerfRing::~PerfRing() {
  if (page_) munmap(page_, size_ + uint64_t(sysconf(_SC_PAGESIZE)));
  if (early_ >= 0) close(early_);
  if (fd_ >= 0) close(fd_);
}

void PerfRing::start() { ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0); }

void PerfRing::stop() {
  stop_early();
  ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
}

void PerfRing::stop_early() {
  if (has_early()) ioctl(early_, PERF_EVENT_IOC_DISABLE, 0);
}

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

namespace {

// What it costs a program to be sampled.
//
// Each sample is an interrupt, which is part of the time that the program has had its processor, and of the period up
// to the next sample: on a virtual machine that is some 10 microseconds in 200. So the program itself runs for less
// than a period from one sample to the next. How much less is seen by a loop that does nothing but read the clock: a
// sample is a gap. Who runs instead of it meanwhile makes longer gaps, and the kernel's timer others. So of as many
// gaps as there were samples, the longest ones, one of the shortest is taken: samples are alike.

constexpr uint64_t kMeasuredPeriod = 200'000;   // nanoseconds
constexpr uint64_t kMeasuredTime = 5'000'000;   // the same, on a processor
constexpr uint64_t kLongestPeriod = 2'000'000;  // with fewer samples than in so many nanoseconds little is known
constexpr uint64_t kPeriodForCost = 100;        // how many times what a sample costs
constexpr uint64_t kEarlyPart = 4;              // how many early samples there are for one later
constexpr uint64_t kEarlySamples = 400;         // that are enough: half of the time is known to 10 % of it

uint64_t time_on(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

// Nanoseconds.
uint64_t processor_time() { return time_on(CLOCK_THREAD_CPUTIME_ID); }

// The longest gaps between two looks at the time stamp counter in the time to measure, the longest first, nanoseconds.
std::vector<double> longest_gaps() {
  std::vector<uint64_t> gaps;  // one in each hundred looks
  const uint64_t begun = time_on(CLOCK_MONOTONIC), first = __rdtsc(), end = processor_time() + kMeasuredTime;
  uint64_t last = first;
  while (processor_time() < end) {
    uint64_t longest = 0;
    for (int i = 0; i < 100; ++i) {
      const uint64_t next = __rdtsc();
      longest = std::max(longest, next - last);
      last = next;
    }
    gaps.push_back(longest);
  }
  std::ranges::sort(gaps, std::greater());
  const double cycle = double(time_on(CLOCK_MONOTONIC) - begun) / double(std::max<uint64_t>(__rdtsc() - first, 1));
  std::vector<double> times;
  for (const uint64_t gap : gaps) times.push_back(double(gap) * cycle);
  return times;
}

// Nanoseconds, less than half a period; 0 if it cannot be measured.
uint64_t cost_of_sample(PerfSettings settings) {
  const uint64_t period = settings.period;
  settings.period = std::min(period, kMeasuredPeriod);
  std::vector<PerfRing> rings;
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (int i = 0; i < processors; ++i) {
    PerfRing ring;
    if (ring.open(0, i, settings) == 0) rings.push_back(std::move(ring));
  }
  for (PerfRing& ring : rings) ring.start();
  const std::vector<double> gaps = longest_gaps();
  size_t samples = 0;
  for (PerfRing& ring : rings) {
    ring.stop();
    ring.read([&](const perf_event_header& header, std::string_view) { samples += header.type == PERF_RECORD_SAMPLE; });
  }
  if (samples == 0 || samples > gaps.size()) return 0;
  return std::min(uint64_t(gaps[samples * 7 / 8]), period / 2);
}

constexpr int kRound = 100;               // milliseconds from one look at the buffers to the next
constexpr uint64_t kPartOfKeeping = 100;  // what is kept meanwhile takes one of so many parts of a processor's time

// Values from the bytes of a record, in order; zeros after its end.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T next() {
    T value{};
    std::memcpy(&value, rest_.data(), std::min(sizeof value, rest_.size()));
    rest_.remove_prefix(std::min(sizeof value, rest_.size()));
    return value;
  }
  // Up to a zero.
  std::string text() const { return std::string(rest_.substr(0, rest_.find('\0'))); }
  std::string_view next_bytes(uint64_t size) {
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

 private:
  std::string_view rest_;
};

// The registers of user code, and a copy of its stack; null if there is none, or if it is 32-bit code.
std::unique_ptr<ThreadState> take_state(Bytes& in, std::string& stack) {
  if (in.next<uint64_t>() != PERF_SAMPLE_REGS_ABI_64) return nullptr;
  auto state = std::make_unique<ThreadState>();
  for (const uint8_t number : kNumbersInDwarf)
    (number == kReturnAddress ? state->pc : state->registers[number]) = in.next<uint64_t>();
  state->stack.start = state->registers[kRsp];
  const std::string_view copied = in.next_bytes(in.next<uint64_t>());
  if (!copied.empty()) stack = copied.substr(0, in.next<uint64_t>());
  return state;
}

// The kernel's limit on samples a second; it stops events that come near it for a moment.
uint64_t most_per_second() {
  uint64_t rate = 0;
  std::ifstream("/proc/sys/kernel/perf_event_max_sample_rate") >> rate;
  return rate ? std::max<uint64_t>(rate / 2, 1) : UINT64_MAX;
}

bool has_ended(pid_t process) {
  siginfo_t info = {};
  return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == process;
}

}  // namespace

PerfSampler::PerfSampler(unsigned per_second, bool with_chains) {
  settings_.with_chains = with_chains;
  settings_.period = 1'000'000'000 / std::min<uint64_t>(per_second, most_per_second());
  if (const int error = may_sample(settings_)) throw Error("perf_event_open: " + system_error(error));
  cost_ = cost_of_sample(settings_);
  if (with_chains)
    settings_.period = std::clamp(kPeriodForCost * cost_, settings_.period, std::max(settings_.period, kLongestPeriod));
  samples_.period = settings_.period - cost_;
  samples_.has_kernel = settings_.with_kernel;
  if (!with_chains) return;
  // What the program runs from one early sample to the next is a fourth of what it runs from one of the others to the
  // next; but these are taken, and cost it time, meanwhile.
  const uint64_t unit = samples_.period / kEarlyPart;
  settings_.early_period = (unit + cost_) * settings_.period / samples_.period;
  if (1'000'000'000 / settings_.early_period > most_per_second()) settings_.early_period = 0;
}

void PerfSampler::attach(pid_t process) {
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (int i = 0; i < processors; ++i) {
    PerfRing ring;
    const int error = ring.open(process, i, settings_);
    if (error == ENODEV) continue;  // not switched on
    if (error) throw Error("perf_event_open: " + system_error(error));
    rings_.push_back(std::move(ring));
  }
  is_early_ = settings_.early_period != 0 && std::ranges::all_of(rings_, &PerfRing::has_early);
  if (!is_early_) {
    std::ranges::for_each(rings_, &PerfRing::stop_early);
    return;
  }
  samples_.period /= kEarlyPart;
  later_weight_ = kEarlyPart;
}

void PerfSampler::watch(pid_t process, const std::function<void(Samples)>& keep) {
  const Descriptor end(int(syscall(SYS_pidfd_open, process, 0)));  // -1 before Linux 5.3: found out a round later
  std::vector<pollfd> waited = {{end.get(), POLLIN, 0}};
  for (const PerfRing& ring : rings_) waited.push_back({ring.descriptor(), POLLIN, 0});
  std::future<uint64_t> keeping;  // gives what it took, nanoseconds on a processor
  auto next_keeping = std::chrono::steady_clock::now();
  while (!has_ended(process)) {
    poll(waited.data(), waited.size(), kRound);
    for (size_t i = 1; i < waited.size(); ++i) {
      if (waited[i].revents & (POLLHUP | POLLERR)) waited[i].fd = -1;  // nothing is left to sample there
    }
    read_round(false);
    const auto now = std::chrono::steady_clock::now();
    if (keeping.valid() && keeping.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      next_keeping = now + std::chrono::nanoseconds(kPartOfKeeping * keeping.get());
    if (!keep || keeping.valid() || now < next_keeping || samples_.user + samples_.kernel == 0) continue;
    const uint64_t start = processor_time();
    keeping = std::async(std::launch::async, [&keep, samples = so_far(), copied = processor_time() - start]() mutable {
      const uint64_t begin = processor_time();
      keep(std::move(samples));
      return copied + processor_time() - begin;
    });
  }
  for (PerfRing& ring : rings_) ring.stop();
  read_round(true);
}

void PerfSampler::read_rings() {
  for (PerfRing& ring : rings_) {
    ring.read([&](const perf_event_header& header, std::string_view bytes) { take(header, bytes); });
  }
}

// From the last early sample on, the others count.
void PerfSampler::end_early() {
  std::ranges::for_each(rings_, &PerfRing::stop_early);
  read_rings();
  is_early_ = false;
}

void PerfSampler::read_round(bool is_last) {
  newest_before_ = newest_;
  read_rings();
  if (is_early_ && early_samples_ >= kEarlySamples) end_early();
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Record& a, const Record& b) { return a.time < b.time; });
  size_t done = 0;
  while (done < waiting_.size() && (is_last || waiting_[done].time < newest_before_)) apply(waiting_[done++]);
  waiting_.erase(waiting_.begin(), waiting_.begin() + ptrdiff_t(done));
}

// The layouts are in <linux/perf_event.h>. Samples begin with the number of the event, and other records end with
// process, thread, time and that number.
void PerfSampler::take(const perf_event_header& header, std::string_view bytes) {
  Record r;
  Bytes in(bytes);
  if (header.type != PERF_RECORD_SAMPLE) {
    constexpr size_t kTimeAndNumber = 16;
    if (bytes.size() < kTimeAndNumber) return;
    r.time = Bytes(bytes.substr(bytes.size() - kTimeAndNumber)).next<uint64_t>();
  }
  switch (header.type) {
    case PERF_RECORD_SAMPLE: {
      const auto number = in.next<uint64_t>();
      r.is_early = std::ranges::any_of(
          rings_, [&](const PerfRing& ring) { return ring.has_early() && ring.early_number() == number; });
      r.address = in.next<uint64_t>();
      r.process = in.next<uint32_t>();
      r.thread = in.next<uint32_t>();
      r.time = in.next<uint64_t>();
      r.in_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
      if (settings_.with_chains) r.state = take_state(in, r.stack);
      if (!r.is_early) break;
      ++early_samples_;
      last_early_ = std::max(last_early_, r.time);
      break;
    }
    case PERF_RECORD_MMAP2: {
      r.kind = Record::Kind::kMap;
      r.process = in.next<uint32_t>();
      r.thread = in.next<uint32_t>();
      r.mapping.start = in.next<uint64_t>();
      r.mapping.end = r.mapping.start + in.next<uint64_t>();
      r.mapping.offset = in.next<uint64_t>();
      in.next<uint64_t>();  // device
      in.next<uint64_t>();  // inode
      in.next<uint64_t>();  // its generation
      in.next<uint64_t>();  // protection and flags
      const std::string path = in.text();
      const bool is_file = path.starts_with('/') && !path.starts_with("//");
      r.mapping.module = module(is_file || path == "[vdso]" ? path : "[anonymous]");
      break;
    }
    case PERF_RECORD_FORK:
      r.process = in.next<uint32_t>();
      r.parent = in.next<uint32_t>();
      r.thread = in.next<uint32_t>();
      r.parent_thread = in.next<uint32_t>();
      r.kind = r.process == r.parent ? Record::Kind::kThread : Record::Kind::kFork;
      break;
    case PERF_RECORD_EXIT:
      r.kind = Record::Kind::kThreadEnd;
      r.process = in.next<uint32_t>();
      break;
    case PERF_RECORD_COMM:
      r.kind = header.misc & PERF_RECORD_MISC_COMM_EXEC ? Record::Kind::kExec : Record::Kind::kName;
      r.process = in.next<uint32_t>();
      r.thread = in.next<uint32_t>();
      r.name = in.text();
      break;
    case PERF_RECORD_LOST:
      in.next<uint64_t>();  // of which event
      samples_.lost += in.next<uint64_t>();
      return;
    case PERF_RECORD_THROTTLE:  // nothing until the next tick of the kernel's
      ++samples_.lost;
      return;
    default:
      return;
  }
  newest_ = std::max(newest_, r.time);
  waiting_.push_back(std::move(r));
}

void PerfSampler::apply(const Record& r) {
  timeline_.go_on(r.time);
  switch (r.kind) {
    case Record::Kind::kSample:
      count(r);
      break;
    case Record::Kind::kMap:
      spaces_.map(r.process, r.mapping);
      break;
    case Record::Kind::kFork:
      spaces_.fork(r.process, r.parent);
      threads_[{r.process, r.thread}].name = threads_[{r.parent, r.parent_thread}].name;
      break;
    case Record::Kind::kThread:
      spaces_.begin_thread(r.process);
      threads_[{r.process, r.thread}].name = threads_[{r.parent, r.parent_thread}].name;
      break;
    case Record::Kind::kThreadEnd:
      spaces_.end_thread(r.process);
      break;
    case Record::Kind::kExec:
      spaces_.exec(r.process);
      [[fallthrough]];
    case Record::Kind::kName:
      threads_[{r.process, r.thread}].name = r.name;
      break;
  }
}

void PerfSampler::count(const Record& r) {
  ++taken_;
  if (!r.is_early && (is_early_ || r.time <= last_early_)) return;
  const uint64_t weight = r.is_early ? 1 : later_weight_;
  if (is_of_runtime(r)) {
    of_runtime_ += weight;
    return;
  }
  weights_ += weight;
  squares_ += weight * weight;
  if (settings_.with_chains) count_chain(r, weight);
  SampledThread& thread = threads_[{r.process, r.thread}];
  if (r.in_kernel) {
    thread.kernel += weight;
    samples_.kernel += weight;
    return;
  }
  thread.user += weight;
  samples_.user += weight;
  const AddressSpaces::Mapping* mapping = spaces_.find(r.process, r.address);
  SampledModule& m = samples_.modules[mapping ? mapping->module : module("[unknown]")];
  m.counts[mapping && m.has_offsets() ? r.address - mapping->start + mapping->offset : 0] += weight;
}

// What the runtime of a copy does is no part of the program's time; nor is what the kernel does for it.
bool PerfSampler::is_of_runtime(const Record& r) {
  if (!r.state) return false;
  const std::optional<FoundCode> code = code_at(r.process, r.state->pc);
  return code && code->table && code->table->is_runtime(code->place.offset);
}

namespace {

// Of a thread, for the timeline.
uint64_t number_of(uint32_t process, uint32_t thread) { return uint64_t(process) << 32 | thread; }

}  // namespace

void PerfSampler::count_chain(const Record& r, uint64_t weight) {
  std::vector<FramePlace> frames;
  ChainEnd end = ChainEnd::no_code;
  if (r.state) {
    r.state->stack.bytes = r.stack;
    end = chain_of(
        *r.state, [&](uint64_t address) { return code_at(r.process, address); }, frames);
  }
  const auto is_runtime = [&](const FramePlace& place) {
    return place.module < tables_.size() && tables_[place.module] && tables_[place.module]->is_runtime(place.offset);
  };
  // The runtime does some of its work on stacks of its own. Where it calls what the program meant to call, as
  // pthread_create, the program is shown to call that.
  if ((end == ChainEnd::other_stack || end == ChainEnd::cut_off) && is_runtime(frames.back())) end = ChainEnd::whole;
  std::erase_if(frames, is_runtime);
  if (end != ChainEnd::whole) frames.push_back({module("[unknown]"), 0});
  const uint32_t chain = samples_.chains.add(frames, weight, r.in_kernel, chain_index_);
  timeline_.add(r.time, number_of(r.process, r.thread), chain, r.in_kernel, weight);
  samples_.chains.count(end, weight);
}

std::optional<FoundCode> PerfSampler::code_at(uint32_t process, uint64_t address) {
  const AddressSpaces::Mapping* mapping = spaces_.find(process, address);
  if (!mapping) return {};
  const SampledModule& m = samples_.modules[mapping->module];
  if (!m.has_offsets()) return FoundCode{{mapping->module, 0}};
  if (tables_.size() <= mapping->module) tables_.resize(mapping->module + 1);
  std::unique_ptr<UnwindTable>& table = tables_[mapping->module];
  if (!table) table = std::make_unique<UnwindTable>(m.path);
  return FoundCode{{mapping->module, address - mapping->start + mapping->offset}, table.get()};
}

uint32_t PerfSampler::module(const std::string& path) {
  const auto [at, is_new] = module_index_.try_emplace(path, uint32_t(samples_.modules.size()));
  if (is_new) samples_.modules.push_back({path});
  return at->second;
}

namespace {

// Leaves out those in which no sample was taken, and that are in no chain.
void leave_out_modules(Samples& samples) {
  std::vector<bool> is_used;
  for (const SampledModule& m : samples.modules) is_used.push_back(!m.counts.empty());
  for (size_t i = 1; i < samples.chains.nodes().size(); ++i) is_used[samples.chains.nodes()[i].place.module] = true;
  std::vector<uint32_t> numbers;
  std::vector<SampledModule> used;
  for (size_t i = 0; i < is_used.size(); ++i) {
    numbers.push_back(uint32_t(used.size()));
    if (is_used[i]) used.push_back(std::move(samples.modules[i]));
  }
  samples.modules = std::move(used);
  samples.chains.renumber(numbers);
}

}  // namespace

Samples PerfSampler::so_far() {
  Samples samples = samples_;
  if (weights_) samples.weight = double(squares_) / double(weights_);
  samples.cost = taken_ * cost_ + of_runtime_ * samples.period;
  leave_out_modules(samples);
  for (SampledModule& m : samples.modules) {
    if (!m.is_file()) continue;
    const auto [id, is_new] = build_ids_.try_emplace(m.path);
    if (is_new) id->second = build_id_of(m.path);
    m.build_id = id->second;
  }
  std::map<uint64_t, uint32_t> numbers;
  for (auto& [ids, thread] : threads_) {
    if (!thread.user && !thread.kernel) continue;
    numbers[number_of(ids.first, ids.second)] = uint32_t(samples.threads.size());
    samples.threads.push_back({ids.first, ids.second, thread.name, thread.user, thread.kernel});
  }
  samples.times = timeline_.finish(numbers);
  return samples;
}

Samples PerfSampler::finish() { return so_far(); }

}  // namespace prof
