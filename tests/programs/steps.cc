// Functions whose lines, calls and branches run a known number of times, one of them inlined.
#include <cstdio>

volatile int fives, others;

__attribute__((noinline)) static void step(int x) {
  if (x % 5 == 0)
    fives = x;
  else
    others += x;
}

struct Twice {
  void operator()(int x) const {
    step(x);
    step(x + 1);
  }
};

__attribute__((noinline)) void go(int times, void (*last)(int)) {
  for (int i = 0; i < times; ++i) Twice()(i);
  last(times);
}

int main(int argc, char**) {
  go(1000, step);
  if (argc > 1) go(500, step);
  return 0;
}
