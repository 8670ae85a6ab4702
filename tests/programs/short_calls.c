// Functions whose hooks leave (profld --latency), and what comes in between.
//
//     short_calls stepped            a signal after each instruction of their calls, whose handler calls others of them
//     short_calls jumped             the same, but the handler jumps away; then one is called 20,000 times
//     short_calls threads THREADS    threads call them, all at the same time
//     short_calls ways               they end in each way, and call themselves
//
// Prints what came out, and the lines "calls NAME N".

#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noipa))
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ALL(m) EIGHT(m, 0) EIGHT(m, 1) EIGHT(m, 2) EIGHT(m, 3) EIGHT(m, 4) EIGHT(m, 5) EIGHT(m, 6) EIGHT(m, 7)
enum { kFunctions = 64 };

// By thread, and by the handler.
static __thread long made[kFunctions];

// Two exits, and functions of all lengths, so that hooks are at all places in a word.
#define DEFINE(n)                                      \
  KEPT long short_##n(long x) {                        \
    ++made[0##n];                                      \
    if (x % 3 == 0) return x + 0##n;                   \
    asm volatile(".skip " #n " %% 9, 0x90" : "+r"(x)); \
    return x - 0##n;                                   \
  }
ALL(DEFINE)
#define NAME(n) short_##n,
static long (*const functions[kFunctions])(long) = {ALL(NAME)};

static long counts[kFunctions], sum;
static void add_made(void) {
  for (int i = 0; i < kFunctions; ++i) counts[i] += made[i];
}

KEPT static long long_one(long x) {
  long s = 0;
  for (int i = 0; i < 400; ++i) s += functions[i % kFunctions](x + i);
  return s;
}

static volatile sig_atomic_t next_in_handler;
static volatile long in_handlers;
KEPT static void handle(int number) {
  (void)number;
  in_handlers += functions[next_in_handler++ % kFunctions](next_in_handler);
}

#define FLAGS_OR(word) \
  asm volatile("sub $128, %%rsp; pushf; orq %0, (%%rsp); popf; add $128, %%rsp" : : "i"(word) : "cc", "memory")
#define FLAGS_AND(word) \
  asm volatile("sub $128, %%rsp; pushf; andq %0, (%%rsp); popf; add $128, %%rsp" : : "i"(word) : "cc", "memory")

KEPT static void stepped(void) {
  struct sigaction action = {.sa_handler = handle};
  sigaction(SIGTRAP, &action, NULL);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kFunctions; ++i) {
      FLAGS_OR(0x100);
      sum += functions[i](round + i);
      sum += strlen("a library's function") + (long)strtol("17", NULL, 10);
      FLAGS_AND(-0x101);
    }
  }
  for (int i = 0; i < 3000; ++i) sum += functions[i % kFunctions](i);
}

static sigjmp_buf step_place;
static volatile sig_atomic_t steps, jump_at;
static void jump(int number) {
  (void)number;
  if (++steps == jump_at) siglongjmp(step_place, 1);
}

KEPT static void jumped(void) {
  struct sigaction action = {.sa_handler = jump, .sa_flags = SA_NODEFER};
  sigaction(SIGTRAP, &action, NULL);
  for (int i = 0; i < 10 * kFunctions; ++i) sum += functions[i % kFunctions](i);  // none is new to the runtime
  for (jump_at = 1; jump_at < 600; ++jump_at) {
    steps = 0;
    if (!sigsetjmp(step_place, 1)) {
      FLAGS_OR(0x100);
      for (int i = 1; i < 4; ++i) sum += functions[1 + (jump_at * 3 + i) % (kFunctions - 2)](i);
    }
    FLAGS_AND(-0x101);
  }
  for (int i = 0; i < 20000; ++i) sum += functions[kFunctions - 1](i);
}

KEPT static void* in_thread(void* argument) {
  long s = 0;
  for (long i = 0; i < 200000; ++i) s += functions[(i + (i >> 5)) % kFunctions](i);
  for (long i = 0; i < 2000; ++i) s += long_one(i);
  pthread_mutex_t* mutex = argument;
  pthread_mutex_lock(mutex);
  sum += s;
  add_made();
  pthread_mutex_unlock(mutex);
  return NULL;
}

static void threads(int n) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_t* all = calloc((size_t)n, sizeof *all);
  for (int i = 0; i < n; ++i) pthread_create(&all[i], NULL, in_thread, &mutex);
  for (int i = 0; i < n; ++i) pthread_join(all[i], NULL);
  free(all);
}

static jmp_buf place;
static long counted_ends, recursions, jumps;
KEPT long ends(long x) { return ++counted_ends + x; }
KEPT long jumps_to_end(long x) {
  ++jumps;
  return ends(x * 2);
}  // a tail call
KEPT long jumps_if(long x) { return x & 1 ? jumps_to_end(x) : 0; }
KEPT long recursive(long n) {
  ++recursions;
  long below = n == 0 ? 0 : recursive(n - 1);
  asm volatile("" : "+r"(below));
  return 1 + below;
}
KEPT void leaves(int n) {
  if (n % 2) longjmp(place, 1);
}
KEPT long left(int n) {
  if (setjmp(place)) return 1;
  leaves(n);
  return 0;
}
static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void ways(void) {
  for (int i = 0; i < 3000; ++i) {
    sum += jumps_to_end(i) + jumps_if(i) + recursive(i % 50) + left(i) + functions[i % kFunctions](i);
    int numbers[] = {i, 3, 7, -i, 5};
    qsort(numbers, 5, sizeof *numbers, compare);
    sum += numbers[0];
  }
  printf("calls ends %ld\ncalls jumps_to_end %ld\ncalls recursive %ld\ncalls left 3000\ncalls leaves 3000\n",
         counted_ends, jumps, recursions);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (!strcmp(argv[1], "stepped")) stepped();
  if (!strcmp(argv[1], "jumped")) jumped();
  if (!strcmp(argv[1], "threads") && argc > 2) threads(atoi(argv[2]));
  if (!strcmp(argv[1], "ways")) ways();
  add_made();
  if (strcmp(argv[1], "stepped") != 0 && strcmp(argv[1], "jumped") != 0) printf("sum %ld\n", sum);
#define PRINT(n) printf("calls short_" #n " %ld\n", counts[0##n]);
  ALL(PRINT)
  return 0;
}
