#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf away;
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
static int odd(int n);
static int even(int n) {
  if (n == 0)
    return 1;
  return odd(n - 1);
}
static int odd(int n) { return n == 0 ? 0 : even(n - 1); }
static void deep(int n) {
  if (n == 0)
    longjmp(away, 3);
  deep(n - 1);
  puts("never");
}
static int compare(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return x < y ? -1 : x > y;
}
int main(void) {
  int numbers[50], result;
  for (int i = 0; i < 50; ++i)
    numbers[i] = (i * 37) % 50;
  qsort(numbers, 50, sizeof *numbers, compare);
  printf("%d %d %d\n", fib(15), ackermann(2, 3), even(11));
  if ((result = setjmp(away)) == 0) {
    deep(5);
    puts("not here");
  } else {
    printf("back with %d\n", result);
  }
  exit(result == 3 ? 0 : 1);
}
