/* For tests/e2e/gprof/options.sh. Calls that are in the code, and not made, lead to functions after their callers. */
#include <stdio.h>

#include "parts.h"

static int depth(int n);
static int never(int n);

static unsigned work(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; ++i)
    sum += mix(i) ^ spin(i, 40);
  return sum;
}

int main(int argc, char** argv) {
  unsigned sum = 0;
  (void)argv;
  if (argc > 5) return never(argc);
  for (int i = 0; i < 50; ++i) {
    sum += work(200);
    sum += (unsigned)depth(i % 7);
    sum += (unsigned)even(i);
  }
  sum += shared(3);
  printf("%u\n", sum);
  return 0;
}

static int never(int n) {
  return depth(n);
}

static int depth(int n) {
  if (n == 0) return 0;
  return 1 + depth(n - 1);
}
