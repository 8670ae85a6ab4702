// Functions of a few bytes, built without alignment between them: there is no room for a jump at their entries. Each is called directly.
#include "calls.h"

static volatile int n;

__attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }
__attribute__((noinline)) int zero(void) {
  __asm__ volatile("");
  return 0;
}
__attribute__((noinline)) int one(void) {
  __asm__ volatile("");
  return 1;
}
__attribute__((noinline)) int same(int x) {
  __asm__ volatile("");
  return x;
}
__attribute__((noinline)) void nothing_else(void) { __asm__ volatile(""); }

static int (*volatile pointer)(int) = same;

int main(void) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) {
    nothing();
    sum += zero() + one() * 2 + same(i);
    if (i % 2) nothing_else();
  }
  // Through a pointer: reached only where there was room for a jump, so how often is not counted here.
  sum += pointer(4) + (pointer == same);
  printf("%d %d\n", sum, n);
  printf("calls main 1\ncalls nothing 1000\ncalls zero 1000\ncalls one 1000\ncalls nothing_else 500\n");
  return 0;
}
