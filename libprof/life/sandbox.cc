// Programs that give up the right to make system calls (seccomp); and in the second part, those that change their root,
// their user, or what they see of the file system.
//
// The problem. The runtime makes system calls that the program does not. A filter that allows the program's calls may
// answer the runtime's by killing the process, or by a SIGSYS that the program did not expect. Without a system call a
// process cannot find out what is allowed, and no call that asks is sure to be allowed itself.
//
// The way taken. A dynamic program, and the libraries that it leaves this to (libseccomp), install a filter by calling
// prctl or syscall of the C library. libprof.so stands before that in the search for symbols (dynamic.cc in
// linker-rewrite) and has both (libc_calls.S). They do what the C library's do; and of a filter that is installed they
// keep a copy, which from then on is asked before each system call of the runtime's, with the arguments it is going to
// have. A call that would not simply be carried out is not made: its caller gets an error as if the kernel had refused
// it. The runtime counts what it cannot record for that reason.
//
// A system call that one thread has forbidden itself is not made in the others either: the threads and processes that
// it begins have its filters, and we cannot know which these are.
//
// Two more restrictions are made by the same functions. Strict mode, which allows only read, write and exit, and
// PR_SET_TSC make reading the time-stamp counter a SIGSEGV, in one thread: from then on time stands still in all, and
// calls go on being counted. And system calls that are dispatched to the program itself (PR_SET_SYSCALL_USER_DISPATCH)
// are not made at all.
//
// Limit. Filters that were there when the program started, and those that it installs by an instruction of its own (all
// of a static program's), are not seen.

#include "sandbox.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "libprof/clock/tsc.h"
#include "libprof/file/file.h"
#include "libprof/kernel/allowed_calls.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "namespaces.h"
#include "process.h"
#include "sampling.h"

namespace libprof {

namespace {

struct FilterProgram {  // struct sock_fprog
  uint16_t size;        // instructions
  const FilterInstruction* instructions;
};

enum class Effect { none, filter, strict_mode, no_tsc, dispatch };

Effect effect_of_prctl(uint64_t option, uint64_t value) {
  switch (uint32_t(option)) {
    case PR_SET_SECCOMP:
      return value == SECCOMP_MODE_FILTER ? Effect::filter : Effect::strict_mode;
    case PR_SET_TSC:
      return value == PR_TSC_ENABLE ? Effect::none : Effect::no_tsc;
    case PR_SET_SYSCALL_USER_DISPATCH:
      return value == PR_SYS_DISPATCH_ON ? Effect::dispatch : Effect::none;
    default:
      return Effect::none;
  }
}

Effect effect_of_seccomp(uint64_t operation) {
  switch (uint32_t(operation)) {
    case SECCOMP_SET_MODE_FILTER:
      return Effect::filter;
    case SECCOMP_SET_MODE_STRICT:
      return Effect::strict_mode;
    default:
      return Effect::none;
  }
}

}  // namespace

// The program's prctl, or its syscall with one of the two numbers. Returns what the kernel does. In the meantime, in
// handlers and in other threads, the runtime makes no system calls.
extern "C" [[gnu::visibility("hidden")]] int64_t watched_call(int64_t number, uint64_t a, uint64_t b, uint64_t c,
                                                              uint64_t d, uint64_t e) {
  if (distance_to_first != 0) return in_first(watched_call)(number, a, b, c, d, e);
  const Effect effect = number == __NR_prctl ? effect_of_prctl(a, b) : effect_of_seccomp(a);
  if (effect == Effect::none) return unchecked_syscall(number, a, b, c, d, e, 0);
  const bool stops_tsc = (effect == Effect::strict_mode || effect == Effect::no_tsc) && load(&tsc_stopped_at) == 0;
  const bool forbids = effect != Effect::no_tsc;
  SeenFilter* memory = effect == Effect::filter ? static_cast<SeenFilter*>(map_guarded(sizeof(SeenFilter))) : nullptr;
  if (stops_tsc) stop_tsc();
  if (forbids) {
    pause_samples();
    keep_room();
    forbid_all_calls();
  }
  const int64_t result = unchecked_syscall(number, a, b, c, d, e, 0);
  if (is_error(result)) {
    if (stops_tsc) start_tsc();
    if (forbids) {
      undo_forbid_all_calls();
      give_room_back();
      resume_samples();
    }
    if (memory) unmap_guarded(memory, sizeof(SeenFilter));
    return result;
  }
  if (memory) {
    const auto* program = reinterpret_cast<const FilterProgram*>(c);  // of both calls the third argument
    obey_filter(memory, program->instructions, program->size);
    undo_forbid_all_calls();
    give_room_back();
  }
  if (forbids) resume_samples();
  return result;
}

// Programs that change their root, their user, or what they see of the file system.
//
// The problem. The runtime opens its file again by its name when that has to grow (file.cc), and after such a change
// the name may lead nowhere, or the file may not be opened.
//
// The way taken. libprof.so stands before the C library in the search for symbols, see sandbox.cc. It has the functions
// that make such a change, and its syscall has the calls (libc_calls.S): before them the file is given the room that it
// may need without being opened, and what is not used of that is given back when it can be opened afterwards. The
// change itself is left to the C library, whose functions change all threads.
//
// Limits. Changes that a program makes by system call instructions of its own (all, in a static program) are not seen.
// Changes of the group are not handled: the file belongs to the user, but a directory may be open to a group only. A
// file whose room could not be given back stays as long as it is, a hole for the most part.

namespace {

using Function = uint64_t(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define FOR_EACH_FUNCTION(DO) \
  DO(chroot)                  \
  DO(pivot_root)              \
  DO(mount)                   \
  DO(umount)                  \
  DO(umount2)                 \
  DO(unshare)                 \
  DO(setns)                   \
  DO(setuid)                  \
  DO(seteuid)                 \
  DO(setreuid)                \
  DO(setresuid)               \
  DO(setfsuid)                \
  DO(capset)

struct Watched {
  const char* name;
  Function* next;  // the C library's; null if it is not known
};
#define DESCRIBE(name) {#name, nullptr},
Watched watched[] = {FOR_EACH_FUNCTION(DESCRIBE)};
#define INDEX(name) index_of_##name,
enum { FOR_EACH_FUNCTION(INDEX) };

void* const kNext = reinterpret_cast<void*>(-1);  // RTLD_NEXT

}  // namespace

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] void* dlsym(void* handle, const char* name);

namespace {

// dlsym, where it has to be asked, searches the libraries after the one that it returns to.
void find(Watched* w) {
  if (w->next) return;
  void* found = nullptr;
  if (knows_libraries())
    found = find_next_function(w->name);
  else if (dlsym)
    found = dlsym(kNext, w->name);
  store(&w->next, reinterpret_cast<Function*>(found));
}

uint64_t call(Watched* w, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
  find(w);
  if (!w->next) return uint64_t(-1);
  in_first(keep_room)();
  const uint64_t result = w->next(a, b, c, d, e);
  in_first(give_room_back)();
  return result;
}

}  // namespace

void find_watched_functions() {
  for (Watched& w : watched) find(&w);
}

// The program's syscall with the number of such a call. Returns what the kernel does.
extern "C" [[gnu::visibility("hidden")]] int64_t watched_change(int64_t number, uint64_t a, uint64_t b, uint64_t c,
                                                                uint64_t d, uint64_t e) {
  in_first(keep_room)();
  const int64_t result = unchecked_syscall(number, a, b, c, d, e, 0);
  in_first(give_room_back)();
  return result;
}

#define DEFINE(name)                                                                                      \
  extern "C" [[gnu::visibility("default")]] uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, \
                                                          uint64_t e) {                                   \
    return call(&watched[index_of_##name], a, b, c, d, e);                                                \
  }
FOR_EACH_FUNCTION(DEFINE)

}  // namespace libprof
