// Test programs count their own calls: CALLED("name") as a function's first statement, print_calls() at the end prints
// "calls NAME N" lines, which the test compares with what prof reports.

#ifndef TESTS_PROGRAMS_CALLS_H
#define TESTS_PROGRAMS_CALLS_H

#include <stdio.h>

// A function that stays one function, whatever the optimizer thinks: not inlined, not cloned, not evaluated at compile time.
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

struct Counter {
  const char* name;
  unsigned long calls;
};

#define CALLED(NAME)                                                                                                   \
  do {                                                                                                                 \
    static struct Counter counter __attribute__((section("counters"), used, aligned(16))) = {NAME, 0};                 \
    __atomic_fetch_add(&counter.calls, 1, __ATOMIC_RELAXED);                                                           \
  } while (0)

#ifdef __cplusplus
extern "C" {
#endif
extern struct Counter __start_counters[], __stop_counters[];
#ifdef __cplusplus
}
#endif

static inline void print_calls(void) {
  for (struct Counter* counter = __start_counters; counter != __stop_counters; ++counter)
    printf("calls %s %lu\n", counter->name, counter->calls);
  fflush(stdout);
}

static inline void forget_calls(void) {
  for (struct Counter* counter = __start_counters; counter != __stop_counters; ++counter) counter->calls = 0;
}

#endif
