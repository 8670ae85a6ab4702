/* A function whose instructions, between two breakpoint instructions of its own, interrupt_each interrupts one after the other by
   SIGUSR1. The handler returns, and has blocks of its own: few, or now and then more than any window of a trace has room for.
   It comes more often than there are instructions. Prints how often `interrupted`, `in_handler` and `round` ran. */
#include <signal.h>
#include <stdio.h>

enum { kCalls = 700 };
static volatile long handled, rounds, words[4] = {6, 3, 8, 1};

__attribute__((noinline)) void in_handler(void) { ++handled; }
__attribute__((noinline)) void round(long n) { rounds += n; }

static void handle(int signal) {
  (void)signal;
  in_handler();
  for (int i = handled % 16 ? 1 : 300000; i > 0; --i) round(1);
}

__attribute__((noinline)) void interrupted(volatile long *to) {
  __asm__ volatile("int3" : : : "memory");
  for (int i = 0; i < 3; ++i)
    if (words[i] & 1)
      *to += words[i];
    else if (words[i] > words[3])
      to[1] -= words[i];
  __asm__ volatile("int3" : : : "memory");
}

int main(void) {
  struct sigaction action = {.sa_handler = handle};
  sigaction(SIGUSR1, &action, NULL);
  long sums[2] = {0, 0};
  for (int i = 0; i < kCalls; ++i) interrupted(sums);
  signal(SIGUSR1, SIG_IGN);
  printf("interrupted %d\nin_handler %ld\nround %ld\n", kCalls, handled, rounds);
  return sums[0] != 3 * kCalls || sums[1] != -14 * kCalls;
}
