// Rewritten libraries, which tell when they are loaded: see libraries.cc.

#ifndef LIBPROF_LIBRARIES_H
#define LIBPROF_LIBRARIES_H

#include "libprof/data/objects.h"

namespace libprof {

// Before anything else here, as the program starts.
void find_loaded_libraries();

// Whoever makes threads tells the runtime before (expect_threads). To be called before there are any.
void set_told_of_threads();

// Threads may be made at any time, of which nobody tells: from now on, increments in libraries without hooks are
// locked.
void expect_threads();

// A thread is about to be made, which begins with begin_thread. Until then it and its maker have the counters of its
// birth.
struct Birth {
  uint64_t counters = 0;  // 0: those of its maker
  uint64_t base = 0;      // of gs, of the maker
  int32_t process = 0;
};
Birth begin_birth();
void end_birth(const Birth& birth, bool is_made);  // of the maker
void end_birth_of_new(const State* s, const Birth& birth);

// The same if an object may make threads that nobody tells of.
void expect_threads_of(const Object& object);

// The same of those that run in a child that the C library forks. Before it does.
void expect_fork();

// Counts the blocks of those that were initialized before libprof.so, as the linker's -z initfirst asks. For its
// constructor.
void count_libraries_loaded_before();

}  // namespace libprof

#endif
