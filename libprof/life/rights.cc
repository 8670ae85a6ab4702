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

#include "rights.h"

#include "libprof/file/file.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "namespaces.h"

namespace libprof {

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
