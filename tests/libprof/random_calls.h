// Eight functions with hooks, r0 to r7, that call one another at random, in ever new contexts, and count their calls,
// in any number of threads.

#ifndef TESTS_LIBPROF_RANDOM_CALLS_H
#define TESTS_LIBPROF_RANDOM_CALLS_H

#include <stdint.h>

#include "hooked.h"

#define RANDOM_FUNCTIONS 8

// Calls still to be made in this thread, and those made of each function in all threads.
static __thread long left;
static long made[RANDOM_FUNCTIONS];

typedef int function(int);
static int descend(int);
#define DEFINE(n)                                      \
  function r##n;                                       \
  HOOKED(r##n);                                        \
  int r##n##_body(int x) {                             \
    __atomic_fetch_add(&made[n], 1, __ATOMIC_RELAXED); \
    return descend(x);                                 \
  }
DEFINE(0)
DEFINE(1)
DEFINE(2)
DEFINE(3)
DEFINE(4)
DEFINE(5)
DEFINE(6)
DEFINE(7)
#undef DEFINE
static function* const random_functions[RANDOM_FUNCTIONS] = {r0, r1, r2, r3, r4, r5, r6, r7};

// Makes at most as many calls as are left, so many deep.
static int descend(int depth) {
  static __thread uint64_t seed = 1;
  if (depth == 0) return 0;
  int sum = 0;
  for (int i = 0; i < 2 && left > 0; i++, left--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    sum += random_functions[seed >> 61](depth - 1);
  }
  return sum;
}

#endif
