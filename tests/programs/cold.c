// Functions whose unlikely parts the compiler moves away (.cold), with jumps there and back, and calls from there.
#include <stdlib.h>
#include <string.h>

#include "calls.h"

__attribute__((cold)) KEPT static int complain(const char* what, int n) {
  CALLED("complain");
  return (int)strlen(what) + n;
}
KEPT static int helper(int n) {
  CALLED("helper");
  return n - 1;
}
KEPT static int mostly(int n) {
  CALLED("mostly");
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (__builtin_expect(i % 13 == 12, 0)) {
      sum += complain("thirteenth", i);
      if (i > 100) return complain("too many", sum);
      sum ^= 5;
    }
    sum += helper(i);
  }
  if (__builtin_expect(sum == 77, 0)) abort();
  return sum;
}
KEPT static int choices(int n) {
  CALLED("choices");
  if (__builtin_expect(n < 0, 0)) return complain("negative", -n);
  switch (n % 11) {
    case 0: return helper(1);
    case 1: return 31;
    case 2: return helper(4) * 2;
    case 3: return n;
    case 4:
      if (__builtin_expect(n > 40, 0)) n = complain("forty", n);
      return helper(n) + 1;
    case 5: return 55;
    case 6:
      if (__builtin_expect(n > 60, 0)) return complain("sixty", n) - helper(2);
      return 66;
    case 7: return n ^ 77;
    default: return -n;
  }
}

int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 200; ++i) sum += mostly(i) ^ choices(i - 20);
  printf("%d\n", sum);
  print_calls();
  return 0;
}
