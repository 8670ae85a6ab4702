/* What a trace has to bear: threads, a fork, a signal's handler that comes anywhere, longjmp out of it, vfork. With -DBARE it
   has no C library, and runs the same instructions each time. */

#ifdef BARE

/* A macro, so that the instruction before has the number. */
#define SYSTEM_CALL(number, a, b, c) \
  __asm__ volatile("syscall" : : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory")

static volatile unsigned table[64];

__attribute__((noinline)) static unsigned collatz(unsigned long n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

__attribute__((noinline)) static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__attribute__((noinline)) static unsigned choose(unsigned i) {
  switch (i) {
    case 0:
      return 3;
    case 1:
      return table[1];
    case 2:
      return table[5] + 1;
    case 3:
      return 77;
    case 4:
      table[2]++;
      return 4;
    case 5:
      return 9;
    default:
      return i;
  }
}

/* Comparisons that two jumps look at: flags are live between them. */
__attribute__((noinline)) static int sign(long a, long b) { return a < b ? -1 : a > b; }

void _start(void) {
  unsigned long sum = 0;
  for (int i = 1; i < ROUNDS; ++i) {
    sum += collatz(i);
    table[i % 64] += sum;
    sum += choose(i % 8) + sign(table[i % 7], table[i % 11]);
  }
  sum += fib(12);
  __asm__ volatile("cld; rep stosb" : : "D"(table), "a"(0), "c"(sum % 32) : "memory");
  SYSTEM_CALL(1, 1, "bare\n", 5);
  SYSTEM_CALL(231, sum % 64, 0, 0);
  for (;;) {
  }
}

#else

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) void counted(int n) {
  for (int i = 0; i < n; i++) sink = i;
}

__attribute__((noinline)) void in_handler(void) { sink = sink + 1; }

static volatile long ticks;

static void on_tick(int signal) {
  (void)signal;
  in_handler();
  ++ticks;
}

static void* work(void* argument) {
  for (int i = 0; i < 3; i++) counted(1000);
  return argument;
}

int main(int argc, char** argv) {
  const char* end = argc > 1 ? argv[1] : "return";
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (ticks < 50) counted(100000); /* handlers come between any two instructions of this */
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);

  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  pid_t child = fork();
  if (child == 0) {
    counted(100);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  child = vfork();
  if (child == 0) {
    counted(7);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("ticks %ld\n", ticks);
  fflush(stdout);
  if (strcmp(end, "kill") == 0) raise(SIGKILL);
  return 0;
}

#endif
