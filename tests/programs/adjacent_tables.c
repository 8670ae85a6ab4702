// Two functions that are called through pointers only, with jump tables one after the other. Each compares its index in
// memory and then loads it.
#include <stdio.h>

struct Request {
  long unused, kind, value;
};

static long (*volatile report)(int, long, long);

static long add(int who, long a, long b) {
  printf("%d %ld %ld\n", who, a, b);
  return a + b;
}

#define CASES(n)                        \
  switch (r->kind) {                    \
    case 0:                             \
    case 7:                             \
      return 0;                         \
    case 1:                             \
      return report(n, r->value, 8);    \
    case 2:                             \
      return report(n, r->value, 16);   \
    case 3:                             \
      return report(n, r->value, 1024); \
    case 4:                             \
      return report(n, r->value, 64);   \
    case 5:                             \
      return report(n, r->value, 3);    \
    case 6:                             \
      return report(n, r->value, 31);   \
    case 8:                             \
      return report(n, r->value, 5);    \
    case 9:                             \
      return report(n, r->value, 7);    \
  }                                     \
  return 1;

static long first(const struct Request* r) { CASES(1) }
static long second(const struct Request* r) { CASES(2) }
static long third(const struct Request* r) { CASES(3) }

static long (*volatile handlers[])(const struct Request*) = {first, second, third};

int main(void) {
  report = add;
  long sum = 0;
  for (int i = 0; i < 36; ++i) {
    struct Request r = {0, i % 12, i};
    sum += handlers[i / 12](&r);
  }
  printf("%ld\n", sum);
}
