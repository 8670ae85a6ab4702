// stacks: frames on several stacks of one thread. Prints "context CALLS PATH" for what the tree must hold.
//
//   coroutines of ucontext, on stacks from mmap, that call each other's resumer in the middle of their own functions;
//   a signal stack that is an array in a frame of the program's own stack; a signal stack below and one above it

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "hooked.h"

int start(int), generate(int), step(int), use(int), outer(int), inner(int), on_signal(int), after(int), raiser(int);
HOOKED(start);
HOOKED(generate);
HOOKED(step);
HOOKED(use);
HOOKED(outer);
HOOKED(inner);
HOOKED(on_signal);
HOOKED(after);
HOOKED(raiser);

enum { kCoroutines = 4, kSteps = 1000, kSize = 262144 };
static ucontext_t main_context, contexts[kCoroutines];
static int current;

int use_body(int x) { return x; }
int step_body(int x) {
  swapcontext(&contexts[x], &main_context);
  return x;
}
int generate_body(int x) {
  for (int i = 0; i < kSteps; i++) {
    use(i);
    step(x);
  }
  return x;
}
static void coroutine(void) { generate(current); }

int start_body(int x) {
  for (int i = 0; i < kCoroutines; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp =
        mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    contexts[i].uc_stack.ss_size = kSize;
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], coroutine, 0);
  }
  for (int s = 0; s <= kSteps; s++) {
    for (int i = 0; i < kCoroutines; i++) {
      current = i;
      swapcontext(&main_context, &contexts[i]);
      use(s);
    }
  }
  return x;
}

static sigjmp_buf target;
static int leaves;
int after_body(int x) { return x; }
int on_signal_body(int x) {
  after(x);
  if (leaves) siglongjmp(target, 1);
  return x;
}
static void handler(int sig) { on_signal(sig); }
int raiser_body(int x) {
  raise(SIGUSR1);
  after(x);
  return x;
}
int inner_body(int x) {
  raiser(x);
  after(x);
  return x;
}
static void use_signal_stack(void* low, size_t size) {
  stack_t stack = {.ss_sp = low, .ss_size = size};
  if (sigaltstack(&stack, NULL)) exit(1);
}
int outer_body(int kind) {
  char local[65536];
  static char fixed[65536];
  if (kind == 0) use_signal_stack(local, sizeof local);
  if (kind == 1) use_signal_stack(fixed, sizeof fixed);
  for (int i = 0; i < 10; i++) {
    leaves = i % 2;
    if (sigsetjmp(target, 1) == 0) inner(i);
    after(i);
  }
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  return kind;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  start(1);
  outer(0);
  outer(1);
  outer(2);
  printf("context 1 start\n");
  printf("context %d start/use\n", kCoroutines * (kSteps + 1));
  printf("context %d start/generate\n", kCoroutines);
  printf("context %d start/generate/use\n", kCoroutines * kSteps);
  printf("context %d start/generate/step\n", kCoroutines * kSteps);
  printf("context 3 outer\ncontext 30 outer/inner\ncontext 30 outer/inner/raiser\ncontext 30 outer/after\n");
  printf("context 30 outer/inner/raiser/on_signal\ncontext 30 outer/inner/raiser/on_signal/after\n");
  printf("context 15 outer/inner/raiser/after\ncontext 15 outer/inner/after\n");
}
