// Non-local jumps: over many frames, repeatedly, out of callbacks, and with signal masks.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "calls.h"

static jmp_buf here;
static sigjmp_buf there;
static volatile int rounds;

KEPT static void fall(int n) {
  CALLED("fall");
  if (n == 0) longjmp(here, rounds);
  fall(n - 1);
  __asm__ volatile("");
}

KEPT static int after(int n) {
  CALLED("after");
  return n + 1;
}

KEPT static int compare_and_leave(const void* a, const void* b) {
  CALLED("compare_and_leave");
  if (*(const int*)a == 5 || *(const int*)b == 5) longjmp(here, 77);
  return *(const int*)a - *(const int*)b;
}

KEPT static void on_signal(int number) {
  CALLED("on_signal");
  siglongjmp(there, number);
}

KEPT static int protect(int depth) {
  CALLED("protect");
  jmp_buf saved;
  int got = setjmp(saved);
  if (got) return got;
  if (depth > 0) after(protect(depth - 1));
  longjmp(saved, depth + 1);
}

int main(void) {
  CALLED("main");
  volatile int sum = 0;
  for (rounds = 1; rounds <= 200; ++rounds) {
    int got = setjmp(here);
    if (got == 0) fall(rounds % 17);
    sum += after(got);
  }
  int numbers[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  if (setjmp(here) == 0) qsort(numbers, 9, sizeof *numbers, compare_and_leave);
  sum += after(1);
  signal(SIGUSR1, on_signal);
  for (volatile int i = 0; i < 50; ++i) {
    int got = sigsetjmp(there, 1);
    if (got == 0) raise(SIGUSR1);
    sum += after(got);
  }
  printf("%d %d\n", sum, protect(20));
  print_calls();
  return 0;
}
