// Recursion: tree-shaped, very deep, mutual, and through a pointer.
#include "calls.h"

KEPT unsigned fib(unsigned n) {
  CALLED("fib");
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

KEPT unsigned ackermann(unsigned m, unsigned n) {
  CALLED("ackermann");
  if (m == 0) return n + 1;
  unsigned inner = n == 0 ? 1 : ackermann(m, n - 1);
  return ackermann(m - 1, inner) + 0;
}

KEPT int is_odd(unsigned n);
KEPT int is_even(unsigned n) {
  CALLED("is_even");
  if (n == 0) return 1;
  int result = is_odd(n - 1);
  __asm__ volatile("" : "+r"(result));
  return result;
}
KEPT int is_odd(unsigned n) {
  CALLED("is_odd");
  if (n == 0) return 0;
  int result = is_even(n - 1);
  __asm__ volatile("" : "+r"(result));
  return result;
}

KEPT unsigned long deep(unsigned n) {
  CALLED("deep");
  if (n == 0) return 1;
  unsigned long below = deep(n - 1);
  __asm__ volatile("" : "+r"(below));
  return below + n;
}

KEPT int hanoi(int n, int from, int to, int (*move)(int, int));
KEPT int move(int from, int to) {
  CALLED("move");
  return from * 3 + to;
}
KEPT int hanoi(int n, int from, int to, int (*step)(int, int)) {
  CALLED("hanoi");
  if (n == 0) return 0;
  return hanoi(n - 1, from, 3 - from - to, step) + step(from, to) + hanoi(n - 1, 3 - from - to, to, step);
}

int main(void) {
  CALLED("main");
  printf("%u %u %d %d %lu %d\n", fib(22), ackermann(2, 40), is_even(1000), is_odd(777), deep(50000), hanoi(12, 0, 2, move));
  print_calls();
  return 0;
}
