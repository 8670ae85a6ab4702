// A server that measures itself: requests of a few dozen microseconds, but one of two thousand takes fifty times as
// long, half of that asleep. Prints a line for each request, of nanoseconds: handle WITHIN AROUND, and how long the
// function that is slow took, if it was called: audit WITHIN AROUND.
//
//     latency REQUESTS [TIMES]
//
// TIMES: the others take as many times as long.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noipa))
#define INLINE static inline __attribute__((always_inline))

INLINE int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct measured {
  int64_t within, around;
};

volatile uint64_t sink;

INLINE void work(int rounds) {
  uint64_t x = (uint64_t)rounds;
  for (int i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  sink = x;
}

KEPT void audit(struct measured* m) {
  const int64_t begin = now();
  work(500000);
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  m->within = now() - begin;
}

KEPT void handle(struct measured* m, int number, int times, struct measured* of_audit) {
  const int64_t begin = now();
  work((20000 + number % 7 * 3000) * times);
  if (number % 2000 == 1234) {
    const int64_t before = now();
    audit(of_audit);
    of_audit->around = now() - before;
  }
  m->within = now() - begin;
}

int main(int argc, char** argv) {
  const int requests = argc > 1 ? atoi(argv[1]) : 2000, times = argc > 2 ? atoi(argv[2]) : 1;
  struct measured* handled = calloc((size_t)requests, sizeof *handled);
  for (int i = 0; i < requests; ++i) {
    struct measured audited = {0, 0};
    const int64_t before = now();
    handle(&handled[i], i, times, &audited);
    handled[i].around = now() - before;
    if (audited.within) printf("audit %lld %lld\n", (long long)audited.within, (long long)audited.around);
  }
  for (int i = 0; i < requests; ++i)
    printf("handle %lld %lld\n", (long long)handled[i].within, (long long)handled[i].around);
  return 0;
}
