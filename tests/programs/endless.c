// Runs until it is killed from outside; tells its progress on standard output every 100000 rounds.
#include "calls.h"

static volatile unsigned sum;

KEPT static void round_of(unsigned n) { sum += n * n; }

int main(void) {
  for (unsigned long i = 1;; ++i) {
    round_of((unsigned)i);
    if (i % 100000 == 0) {
      printf("%lu\n", i);
      fflush(stdout);
    }
  }
}
