// Seeing switches without being told.
//
// The problem. The time-stamp counter goes on while a thread waits or another one has its processor. The kernel knows
// how long a thread ran, but asking it costs twenty times what a hook does. So a hook has to see, with a load and a
// comparison, whether the thread has been off its processor since the hook before; only then the kernel is asked.
//
// Ways, in the order in which they are tried:
//
//   1. Restartable sequences. The C library (glibc since 2.35) registers a struct rseq for each thread. When the kernel
//      puts a thread back on a processor, or starts a signal handler, and the thread is outside the critical section
//      that rseq_cs describes, it sets rseq_cs to 0; it stores the number of the processor as well. We keep rseq_cs
//      pointing at a description whose section is a byte that is no code. So the second half of cpu_id and the first of
//      rseq_cs, eight bytes that are read at once, are the SIGN: they change when the thread is taken off its
//      processor, when the program describes a critical section of its own (and then at worst we ask in vain), and when
//      it ends its registration (cpu_id becomes -1).
//      Kernels need not clear rseq_cs after a system call, where a program must not be in a critical section, so it is
//      tried once with a short sleep.
//      A static program has no symbol that tells where the struct is. The kernel answers: to register a struct that is
//      registered already is EBUSY, any other is EINVAL. The structs of glibc lie near the thread pointer.
//   2. The page of a perf event. The kernel rewrites the page of a task's software clock whenever it puts the task on a
//      processor, and each time adds to the page's `lock`. It takes a system call that is often forbidden, and memory
//      that may be locked; a thread that gets no page has zeros in its place, and asks in each hook: slow, but right.
//   3. Neither. Then a thread asks when the last hook was more than LONGEST_UNASKED cycles ago. What it waited in less
//      is taken for time on a processor, and the profile says so (kShortWaitsUnseen).
//
// Limits. A child of vfork that runs hooks uses its parent's sign, which does not see it wait. A program that switches
// all its perf events off (PR_TASK_PERF_EVENTS_DISABLE) stops the page as well: waiting counts from there on.

#include "switches.h"

#include <linux/perf_event.h>
#include <linux/rseq.h>

#include "libprof/data/settings.h"
#include "libprof/data/state.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

// glibc's: where the struct rseq of each thread is from its thread pointer, and how much of it is used, 0 if none is.
extern "C" {
[[gnu::weak, gnu::visibility("default")]] extern const int64_t __rseq_offset;
[[gnu::weak, gnu::visibility("default")]] extern const uint32_t __rseq_size;
}

namespace {

constexpr uint32_t kSignature = 0x53053053;  // RSEQ_SIG of x86-64, which glibc registers with
constexpr uint64_t kShortestLength = 32;     // bytes, of a struct rseq
constexpr uint64_t kAuxFeatureSize = 27, kAuxAlignment = 28;
constexpr int64_t kSearched = 4096;  // bytes to both sides of the thread pointer
constexpr uint64_t kSignOffset = offsetof(rseq, cpu_id);
static_assert(offsetof(rseq, rseq_cs) == kSignOffset + 4);
constexpr uint64_t kUnexpected = ~uint64_t(0);  // no sign: rseq_cs is 0 or an address, `index` of a page small

// Never executed: the kernel wants the signature before the address to go on at.
struct NoCode {
  uint32_t signature;
  uint32_t after_abort;
};
constexpr NoCode no_code = {kSignature, 0};

// struct rseq_cs, with pointers where it has numbers.
struct alignas(32) CriticalSection {
  uint32_t version, flags;
  const void* start;
  uint64_t size;
  const void* after_abort;
};
const CriticalSection nowhere = {0, 0, &no_code.signature, 1, &no_code.after_abort};

enum class Answer : uint8_t { unknown, no, yes };

// Inherited by forked children: the kernel is the same.
Answer clears_section;  // whether the kernel clears rseq_cs after a system call as well
Answer has_pages;       // whether it maps the pages of perf events
int64_t rseq_offset;    // from the thread pointer; 0: not known

uint64_t load_sign(const char* sign) {
  using Word [[gnu::aligned(4), gnu::may_alias]] = uint64_t;
  return *reinterpret_cast<const volatile Word*>(sign);
}

rseq* rseq_at(int64_t offset) { return reinterpret_cast<rseq*>(thread_pointer() + uint64_t(offset)); }

int64_t try_to_register(const void* at, uint64_t length) {
  return syscall4(__NR_rseq, as_word(at), length, 0, kSignature);
}

// Whether a struct is registered for this thread, wherever that is.
bool is_registered() {
  alignas(32) rseq other = {};
  const int64_t result = try_to_register(&other, sizeof other);
  if (result == 0) syscall4(__NR_rseq, as_word(&other), sizeof other, RSEQ_FLAG_UNREGISTER, kSignature);
  return result == kErrorInvalid;
}

int64_t search_near_thread_pointer() {
  if (!is_registered()) return 0;
  uint64_t alignment = auxiliary_value(kAuxAlignment);
  if (alignment < kShortestLength) alignment = kShortestLength;
  const uint64_t used = auxiliary_value(kAuxFeatureSize);
  const uint64_t longest = used > kShortestLength ? (used + alignment - 1) / alignment * alignment : kShortestLength;
  const uint64_t pointer = thread_pointer(), aligned = pointer / kShortestLength * kShortestLength;
  for (int64_t distance = -kSearched; distance < kSearched; distance += int64_t(kShortestLength)) {
    const uint64_t at = aligned + uint64_t(distance);
    const void* candidate = reinterpret_cast<const void*>(at);
    if (try_to_register(candidate, kShortestLength) == kErrorBusy || try_to_register(candidate, longest) == kErrorBusy)
      return int64_t(at - pointer);
  }
  return 0;
}

// This thread's struct; null if it has none. `cpu_id` is negative in a struct that is not registered.
rseq* rseq_of_thread() {
  if (&__rseq_offset && &__rseq_size) {
    if (__rseq_size == 0) return nullptr;
    rseq_offset = __rseq_offset;
  }
  if (rseq_offset == 0) return nullptr;
  rseq* r = rseq_at(rseq_offset);
  return int32_t(load(&r->cpu_id)) >= 0 ? r : nullptr;
}

void watch(rseq* r) { store(&r->rseq_cs, __u64(as_word(&nowhere))); }

bool is_cleared_by_sleep(rseq* r) {
  watch(r);
  const uint64_t shortest[2] = {0, 1};
  if (syscall4(__NR_nanosleep, as_word(shortest), 0) != 0) return false;
  return load(&r->rseq_cs) == 0;
}

char* page_of(State* s) { return private_stack_top(s) - kPrivateStackSize - kPage; }

// Maps the page of a clock of this thread, in place of the page at `address` if that is given. The result is the
// kernel's.
int64_t map_page(void* address) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = PERF_ATTR_SIZE_VER0;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;  // else it is not for everybody (perf_event_paranoid)
  attributes.exclude_hv = 1;
  const int64_t fd =
      syscall6(__NR_perf_event_open, as_word(&attributes), 0, uint64_t(-1), uint64_t(-1), PERF_FLAG_FD_CLOEXEC, 0);
  if (is_error(fd)) return fd;
  const int64_t page = syscall6(__NR_mmap, as_word(address), kPage, kProtectRead,
                                kMapShared | (address ? kMapFixed : 0), uint64_t(fd), 0);
  close_file(fd);
  return page;
}

bool map_zeros(State* s, uint64_t how) {
  const uint64_t flags = kMapPrivate | kMapAnonymous | how, wanted = as_word(page_of(s));
  const int64_t at = syscall6(__NR_mmap, wanted, kPage, kProtectRead, flags, uint64_t(-1), 0);
  if (is_error(at)) return false;
  if (uint64_t(at) == wanted) return true;
  unmap_memory(reinterpret_cast<void*>(at), kPage);  // a kernel that does not know kMapFixedNoReplace
  return false;
}

bool has_page(State* s) { return s->sign == page_of(s) + offsetof(perf_event_mmap_page, lock); }

}  // namespace

void look_for_signs() {
  if (!rseq_of_thread() && !(&__rseq_offset)) rseq_offset = search_near_thread_pointer();
  if (rseq* r = rseq_of_thread(); r && clears_section != Answer::yes)
    clears_section = is_cleared_by_sleep(r) ? Answer::yes : Answer::no;
  if (clears_section == Answer::yes || has_pages != Answer::unknown) return;
  const int64_t page = map_page(nullptr);
  has_pages = is_error(page) ? Answer::no : Answer::yes;
  if (!is_error(page)) unmap_memory(reinterpret_cast<void*>(page), kPage);
}

bool are_switches_unseen() { return clears_section != Answer::yes && has_pages != Answer::yes; }

bool begin_sign(State* s) {
  s->expected = kUnexpected;
  rseq* r = rseq_of_thread();
  if (r && clears_section == Answer::yes) {
    s->sign = reinterpret_cast<char*>(r) + kSignOffset;
    return true;
  }
  if (are_switches_unseen()) {
    s->sign = reinterpret_cast<char*>(&s->tsc_at_start);
    return true;
  }
  s->sign = page_of(s) + offsetof(perf_event_mmap_page, lock);
  // What was there before may be gone although the call failed.
  return !is_error(map_page(page_of(s))) || map_zeros(s, kMapFixed);
}

uint64_t watch_sign(State* s) {
  if (has_page(s)) {
    const uint64_t sign = load_sign(s->sign);
    return sign != 0 ? sign : kUnexpected;
  }
  rseq* r = rseq_of_thread();
  if (!r || s->sign != reinterpret_cast<char*>(r) + kSignOffset) return kUnexpected;
  watch(r);
  const uint64_t sign = load_sign(s->sign);
  return uint32_t(sign >> 32) == uint32_t(as_word(&nowhere)) ? sign : kUnexpected;
}

bool may_have_switched(State* s, uint64_t stamp) {
  if (are_switches_unseen()) return stamp - load(&s->thread->last_tsc) > LONGEST_UNASKED;
  return load_sign(load(&s->sign)) != load(&s->expected);
}

void stop_watching(State* s) { store(&s->sign, const_cast<const char*>(reinterpret_cast<char*>(&s->expected))); }

bool leave_sign(State* s) { return map_zeros(s, kMapFixedNoReplace); }

}  // namespace libprof
