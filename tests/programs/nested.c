// GCC's nested functions: called through trampolines that are written on the stack.
#include <stdlib.h>

#include "calls.h"

KEPT static int apply(int (*function)(int), int n) {
  CALLED("apply");
  return function(n) + 1;
}
KEPT static int outer(int base) {
  CALLED("outer");
  int calls = 0;
  int add(int n) {
    CALLED("add.0");
    ++calls;
    return n + base;
  }
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += apply(add, i);
  return sum * 100 + calls;
}

int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum += outer(i);
  printf("%d\n", sum);
  print_calls();
  return 0;
}
