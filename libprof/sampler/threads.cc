// libprof-sampler.so: the runtime for a copy of a program that has no hooks, of which each thread samples itself.
//
// The problem. prof run --true samples a program from outside, by perf events. Where these are not allowed, samples can
// be taken inside only, by the timers and the signal of PROFTYPE=sample (sampling.cc). But that begins in a thread with
// its first hook, and hooks are what shall not be there: beside them the times of small functions are not true.
//
// The way taken. profld --no-hooks makes the copy, and this library is its runtime: libprof.so, and pthread_create and
// thrd_create as well, which stand before the C library's and have new threads begin here. With profld -b a thread gets
// its own counters of blocks then. A forked child is told of by the C library (life/threads.cc). What is recorded are
// addresses alone (format.h: kAddresses), or with PROFTYPE=count, if somebody else takes samples, nothing but the
// counts of blocks.
//
// It is a library of its own so that no other copy has functions of ours in the place of pthread_create.
//
// Limits. Threads that are made by glibc itself, for SIGEV_THREAD, or by a system call have no samples. (For the
// counters see linker-rewrite/decide/threads.cc.)

#include "libprof/life/threads.h"

#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "libprof/life/libraries.h"

namespace libprof {

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] void* dlsym(void* handle, const char* name);

// See settings.cc.
extern "C" [[gnu::visibility("default")]] const char libprof_records_addresses = 1;

// thread_start.S: where threads begin.
extern "C" [[gnu::visibility("hidden")]] void* begin_sampled_thread(void* start);

namespace {

using Function = void*(void*);
using Create = int(uint64_t* thread, const void* attributes, Function* function, void* argument);
using CreateC11 = int(uint64_t* thread, Function* function, void* argument);  // the function returns an int

struct Start {
  Function* function;
  void* argument;
};
// What the new thread is given; take_start takes it.
struct Given {
  Start start;
  Birth birth;
};

constexpr int kErrorC11 = 2;  // thrd_error, of glibc and of musl
void* const kNext = reinterpret_cast<void*>(-1);

Create* next;
CreateC11* next_c11;

void* find(const char* name) {
  if (knows_libraries()) return find_next_function(name);
  return dlsym ? dlsym(kNext, name) : nullptr;
}

[[gnu::constructor, gnu::used]] void find_next() {
  store(&next, reinterpret_cast<Create*>(find("pthread_create")));
  store(&next_c11, reinterpret_cast<CreateC11*>(find("thrd_create")));
  if (is_found_first("pthread_create") && is_found_first("thrd_create")) set_told_of_threads();
}

// Has `create` make a thread that begins here and then calls the function. What that returns is what the thread
// returns.
template <class F>
int create_here(Function* function, void* argument, F create) {
  auto* given = static_cast<Given*>(map_memory(sizeof(Given)));
  if (!given) {
    expect_threads();
    return create(function, argument);
  }
  const Birth birth = begin_birth();
  *given = {{function, argument}, birth};
  const int error = create(begin_sampled_thread, given);
  end_birth(birth, error == 0);
  if (error != 0) unmap_memory(given, sizeof *given);
  return error;
}

}  // namespace

// The thread that was made for this runs. Returns what it is to do.
extern "C" [[gnu::visibility("hidden")]] Start take_start(Given* memory) {
  const Given given = *memory;
  unmap_memory(memory, sizeof *memory);
  end_birth_of_new(begin_thread(as_word(__builtin_frame_address(0))), given.birth);
  return given.start;
}

extern "C" [[gnu::visibility("default")]] int pthread_create(uint64_t* thread, const void* attributes,
                                                             Function* function, void* argument) {
  if (!next) find_next();
  if (!next) return EAGAIN;
  return create_here(function, argument, [=](Function* f, void* a) { return next(thread, attributes, f, a); });
}

extern "C" [[gnu::visibility("default")]] int thrd_create(uint64_t* thread, Function* function, void* argument) {
  if (!next_c11) find_next();
  if (!next_c11) return kErrorC11;
  return create_here(function, argument, [=](Function* f, void* a) { return next_c11(thread, f, a); });
}

}  // namespace libprof
