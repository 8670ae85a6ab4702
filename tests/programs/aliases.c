// One function under several names, weak ones, and names that start inside another function.
#include "calls.h"

KEPT int original(int n) {
  CALLED("original");
  return n + 1;
}
int alias(int n) __attribute__((alias("original")));
int weak_alias(int n) __attribute__((weak, alias("original")));
extern int missing(int n) __attribute__((weak));
static int (*volatile pointer)(int) = alias;

int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += original(i) + alias(i) * 2 + weak_alias(i) * 3 + pointer(i) + (missing ? missing(i) : 7);
  printf("%d %d\n", sum, original == alias && pointer == original);
  print_calls();
  return 0;
}
