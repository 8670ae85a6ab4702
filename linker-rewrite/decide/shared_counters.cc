// Threads that increment the same word at the same time lose increments, unless these have the prefix lock: then they cost
// about twenty cycles, and more where threads do it all at once. So a thread of a program has counters of its own, which its
// increments find by the segment register gs (libprof/file/block_counters.cc).
//
// A library has no such base: gs has one for each thread, and it is the distance to the counters that belong to the program. Nor
// is there one where the program uses gs itself. There all threads increment the same array, with lock, and gs is left
// alone (libprof/file/shared_counters.cc).
//
// In copies without hooks: the problem. A thread has counters of its own as soon as the runtime knows of it, at its first hook. In a copy without
// hooks (profld -b --no-hooks) that may be never: then it increments the counters of the thread that made it, at the same
// time as that one, and of two such increments one may be lost.
//
// The way taken. libprof-sampler.so stands in the place of the functions by which programs make threads, and gives each of
// them its counters before it runs. So threads share none, unless they are made in another way: by a system call of the
// program's own; by the C library for itself, when it is asked to call a function of the program's in a thread
// (SIGEV_THREAD and the like); or by clone. A program that may do any of that gets increments with the prefix lock, which
// are never lost, and cost about twenty cycles. The same holds with another runtime, unless the program is static and makes
// no thread.
//
// Forked children are alike: until the runtime knows of them, they count in their parent's profile. The C library tells it
// of fork, but not of _Fork, and in a static program of neither.
//
// Limit. A library may make threads by system calls of its own, and have them call functions of the program.

#include "shared_counters.h"

#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "made_system_calls.h"
#include "segment_registers.h"

namespace profld {

namespace {

// Functions of C libraries that make threads, or processes, without the runtime's knowledge. Without the underscores before
// them.
constexpr std::string_view kMakers[] = {"aio_fsync",   "aio_fsync64",  "aio_read",  "aio_read64",  "aio_write",
                                        "aio_write64", "clone",        "clone3",    "Fork",        "getaddrinfo_a",
                                        "lio_listio",  "lio_listio64", "mq_notify", "timer_create"};

bool is_maker(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return std::ranges::find(kMakers, name) != std::end(kMakers);
}

bool imports_makers(const Image& image) {
  return std::ranges::any_of(image.dynamic_symbols(),
                             [](const Symbol& s) { return s.section == SHN_UNDEF && is_maker(s.name); });
}

// (vfork lets the caller wait.)
bool may_make_threads(const Program& program) {
  constexpr int64_t kCalls[] = {SYS_clone, SYS_clone3, SYS_fork};
  return may_make_system_call(program, kCalls);
}

}  // namespace

Increment choose_increment(const Program& program, bool has_hooks, bool runtime_begins_threads) {
  if (program.image->link_type() == LinkType::shared_library || uses_gs(program)) return Increment::of_process;
  return !has_hooks && may_share_counters(program, runtime_begins_threads) ? Increment::of_thread_locked
                                                                           : Increment::of_thread;
}

bool may_share_counters(const Program& program, bool runtime_begins_threads) {
  const Image& image = *program.image;
  if (!image.is_static() && (!runtime_begins_threads || imports_makers(image))) return true;
  return may_make_threads(program);
}

}  // namespace profld
