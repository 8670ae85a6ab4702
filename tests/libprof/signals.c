// signals SECONDS10 [alt] [jump] [threads N]: functions with hooks call one another at random, for at least so many tenths
// of a second, while a signal handler, which calls such functions as well, interrupts them as often as possible. Prints
// "calls NAME N", counted by the functions themselves.
//
//   alt      the handler runs on a signal stack
//   jump     every 16th handler leaves by siglongjmp (calls on the way may then be entered without being counted here,
//            so only functions of handlers that return are printed)

#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hooked.h"

#define FUNCTIONS 12
enum { ENOUGH = 50 };  // calls of the handler
static atomic_long counts[FUNCTIONS], handler_calls, helper_calls, jumper_calls;
static volatile atomic_int done;
static int jumps, alternate;
static __thread sigjmp_buf target;
static __thread volatile int can_jump;
static __thread uint64_t seed;
static __thread unsigned handled;

typedef void function(int depth);
#define DEFINE(n)                            \
  function f##n;                             \
  HOOKED(f##n);                              \
  void f##n##_body(int depth) {              \
    counts[n]++;                             \
    descend(depth);                          \
  }
static void descend(int depth);
DEFINE(0) DEFINE(1) DEFINE(2) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7) DEFINE(8) DEFINE(9) DEFINE(10) DEFINE(11)
static function* const table[FUNCTIONS] = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11};

static unsigned next_random(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33);
}

static void descend(int depth) {
  unsigned calls = depth > 0 ? next_random() % 3 : 0;
  while (calls--) table[next_random() % FUNCTIONS](depth - 1);
}

int helper(int), handle(int), jumper(int);
HOOKED(helper);
HOOKED(handle);
HOOKED(jumper);
int helper_body(int x) {
  helper_calls++;
  return x + 1;
}
int handle_body(int x) {
  handler_calls++;
  return helper(helper(x));
}
int jumper_body(int x) {
  jumper_calls++;
  siglongjmp(target, 1);
  return x;
}

static void handler(int sig) {
  handle(sig);
  if (jumps && can_jump && ++handled % 16 == 0) {
    can_jump = 0;
    jumper(sig);
  }
}

static void* work(void* argument) {
  seed = (uint64_t)(uintptr_t)argument * 7919 + 1;
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  if (alternate && sigaltstack(&stack, NULL)) exit(1);
  while (!done) {
    if (sigsetjmp(target, 1) == 0) {
      can_jump = 1;
      table[next_random() % FUNCTIONS](14);
      can_jump = 0;
    }
  }
  return NULL;
}

static pthread_t threads[64];
static int thread_count = 1;

static void* interrupt(void* argument) {
  (void)argument;
  while (!done) {
    for (int i = 0; i < thread_count; i++) pthread_kill(threads[i], SIGUSR1);
    usleep(20);
  }
  return NULL;
}

int main(int argc, char** argv) {
  double seconds = argc > 1 ? atoi(argv[1]) / 10.0 : 1;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "alt")) alternate = 1;
    if (!strcmp(argv[i], "jump")) jumps = 1;
    if (!strcmp(argv[i], "threads")) thread_count = atoi(argv[++i]);
  }
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0)};
  sigaction(SIGUSR1, &action, NULL);
  pthread_t interrupter;
  for (int i = 0; i < thread_count; i++) pthread_create(&threads[i], NULL, work, (void*)(uintptr_t)(i + 1));
  pthread_create(&interrupter, NULL, interrupt, NULL);
  usleep((useconds_t)(seconds * 1e6));
  while (handler_calls <= ENOUGH) usleep(1000);  // on a loaded machine signals are slow to come
  done = 1;
  pthread_join(interrupter, NULL);
  for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
  if (!jumps) {
    for (int i = 0; i < FUNCTIONS; i++) printf("calls f%d %ld\n", i, counts[i]);
  }
  printf("calls handle %ld\ncalls helper %ld\ncalls jumper %ld\n", handler_calls, helper_calls, jumper_calls);
}
