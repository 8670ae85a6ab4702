// coroutines HOW N [SIGNALS]: N coroutines, with a switch of their own. Prints "context CALLS PATH" for what the tree must hold, and
// with SIGNALS, which interrupt everything, "calls NAME CALLS" instead: with 1 on the stack that runs, with 2 on another. So it
// does for `shifted`: what lies where others lay before may be taken for theirs.
//
//   left       one after the other, all in the same memory, each left for ever in the middle of its function
//   shifted    the same, but each begins a little higher or lower
//   unmapped   the same, each in memory of its own, which is unmapped then
//   returned   one after the other, each in memory of its own, which is used again when the function has returned
//   alive      all at a time, in any order
//   turns      all at a time, in turn, but for one now and then
//   idle       all at a time, and none has a hooked function while it is away
//   nested     each is begun and resumed by the one before, whose stack lies right above; and again from the start, in the same
//              memory, as many times; those of every other time are left for ever

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "hooked.h"

int drive(int), generate(int), step(int), tick(int);
HOOKED(drive);
HOOKED(generate);
HOOKED(step);
HOOKED(tick);

// switch_to(&own, other): goes on where `other` was left, and keeps where this one is.
void switch_to(void** own, void* other);
// What a coroutine begins with; copied to memory that is in no file, as it is code without hooks, which in a rewritten program lies
// elsewhere.
extern const char begin[], begin_end[];
static char* begin_copy;
asm(".text\n"
    "switch_to:\n"
    "        push %rbp\n        push %rbx\n        push %r12\n        push %r13\n        push %r14\n        push %r15\n"
    "        mov %rsp, (%rdi)\n        mov %rsi, %rsp\n"
    "        pop %r15\n        pop %r14\n        pop %r13\n        pop %r12\n        pop %rbx\n        pop %rbp\n"
    "        ret\n"
    "begin:\n"
    "        mov %ebx, %edi\n        call *%r12\n        mov %ebx, %edi\n        call *%r13\n"
    "begin_end:\n");

enum { kSize = 8192, kSteps = 3 };
static char* memory;  // of all
static void* places[100001];
static void* callers[100001];
static int is_over[100001], is_idle, in_turn, is_nested, nesting, leaves, shift;
static long counts[4];
enum { kDrive, kGenerate, kStep, kTick };

static void yield(int i) { switch_to(&places[i], callers[i]); }
static void end_coroutine(int i) {
  is_over[i] = 1;
  yield(i);
}

static char* memory_of(int i) { return memory + (size_t)i * kSize; }
static void make(int i, char* low, int (*function)(int)) {
  void** p = (void**)(low + kSize - 64 - shift);
  *--p = 0;
  *--p = begin_copy;
  *--p = 0;
  *--p = (void*)(intptr_t)i;
  *--p = (void*)function;
  *--p = (void*)end_coroutine;
  for (int k = 0; k < 2; k++) *--p = 0;
  places[i] = p;
  is_over[i] = 0;
}
static void resume(int i) { switch_to(&callers[i], places[i]); }

int tick_body(int x) {
  counts[kTick]++;
  return x;
}
static void on_alarm(int number) { tick(number); }
int step_body(int i) {
  counts[kStep]++;
  if (i >= 0) yield(i);
  return i;
}
int generate_body(int i) {
  counts[kGenerate]++;
  for (int k = 0; k < kSteps; k++) {
    if (is_nested && i < nesting) {
      if (k == 0) make(i + 1, memory_of(nesting - i - 1), generate);
      drive(i + 1);
    }
    step(i);
  }
  while (leaves) yield(i);
  return i;
}
int drive_body(int i) {
  counts[kDrive]++;
  resume(i);
  return i;
}
static int loop(int i) {
  for (int k = 0; k < kSteps; k++) {
    step(-1);
    yield(i);
  }
  return i;
}

static uint32_t random_bits = 1;
static uint32_t below(uint32_t n) {
  random_bits = random_bits * 1664525 + 1013904223;
  return (random_bits >> 8) % n;
}

static void one_after_the_other(const char* how, int n) {
  for (int i = 0; i < n; i++) {
    char* low = memory_of(0);
    if (!strcmp(how, "shifted")) shift = 16 * (int)below(64);
    if (!strcmp(how, "unmapped")) {
      low = memory_of(i);
      mmap(low, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    if (!strcmp(how, "returned")) low = memory_of((int)below(1000));
    make(0, low, generate);
    for (int k = 0; k <= kSteps; k++) drive(0);
    if (!strcmp(how, "unmapped")) munmap(low, kSize);
  }
}

static void all_at_a_time(int n, int (*function)(int)) {
  for (int i = 0; i < n; i++) make(i, memory_of(i), function);
  for (int left = n, turn = 0; left > 0; turn++) {
    int i = in_turn ? turn % n : (int)below((uint32_t)n);
    if (below(in_turn ? 100 : 4) == 0) i = 0;  // one of them often
    while (is_over[i]) i = (i + 1) % n;
    drive(i);
    left -= is_over[i];
  }
}

int main(int argc, char** argv) {
  const char* how = argv[1];
  const int n = atoi(argv[2]), signals = argc > 3 ? atoi(argv[3]) : 0;
  const int all_returned = strcmp(how, "left") && strcmp(how, "shifted") && strcmp(how, "unmapped");
  memory = mmap(NULL, (size_t)(n + 1000) * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  begin_copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || begin_copy == MAP_FAILED) return 2;
  memcpy(begin_copy, begin, (size_t)(begin_end - begin));
  static char signal_stack[65536];
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  if (signals == 2) sigaltstack(&stack, NULL);
  const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | (signals == 2 ? SA_ONSTACK : 0)};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  if (signals) setitimer(ITIMER_REAL, &often, NULL);

  leaves = !all_returned;
  in_turn = !strcmp(how, "turns");
  if (!strcmp(how, "alive") || in_turn) {
    all_at_a_time(n, generate);
  } else if (!strcmp(how, "idle")) {
    is_idle = 1;
    all_at_a_time(n, loop);
  } else if (!strcmp(how, "nested")) {
    is_nested = 1;
    nesting = n;
    for (int i = 0; i < n; i++) {
      leaves = i % 2;
      make(0, memory_of(n), generate);
      for (int k = 0; k <= kSteps; k++) drive(0);
    }
  } else {
    one_after_the_other(how, n);
  }
  setitimer(ITIMER_REAL, &never, NULL);

  if (signals || !strcmp(how, "shifted")) {
    static const char* const names[] = {"drive", "generate", "step", "tick"};
    for (int i = 0; i < 4; i++) printf("calls %s %ld\n", names[i], counts[i]);
    return 0;
  }
  printf("context %d drive\n", n * (kSteps + 1));
  if (is_nested) {
    for (int level = 0; level <= n; level++) {
      static char path[4096] = "drive/generate";
      if (level != 0) {
        strcat(path, "/drive");
        printf("context %d %s\n", n * kSteps, path);
        strcat(path, "/generate");
      }
      printf("context %d %s\ncontext %d %s/step\n", n, path, n * kSteps, path);
    }
    return 0;
  }
  if (!is_idle) printf("context %d drive/generate\n", n);
  printf("context %d drive/%sstep\n", n * kSteps, is_idle ? "" : "generate/");
}
