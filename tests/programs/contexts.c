// Coroutines: makecontext and swapcontext, each on a small stack of its own, switching in the middle of calls.
#include <stdlib.h>
#include <ucontext.h>

#include "calls.h"

enum { kCoroutines = 8, kStack = 32 * 1024 };
static ucontext_t scheduler, coroutines[kCoroutines];
static int current, finished[kCoroutines];
static long sum;

KEPT static void give_way(void) {
  CALLED("give_way");
  swapcontext(&coroutines[current], &scheduler);
}
KEPT static void walk(int depth) {
  CALLED("walk");
  sum = (sum * 31 + depth + current) % 1000003;
  if (depth == 0) return;
  give_way();
  walk(depth - 1);
  walk(depth - 1);
}
KEPT static void body(void) {
  CALLED("body");
  walk(current % 4 + 2);
  finished[current] = 1;
}

int main(void) {
  CALLED("main");
  for (int i = 0; i < kCoroutines; ++i) {
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = malloc(kStack);
    coroutines[i].uc_stack.ss_size = kStack;
    coroutines[i].uc_link = &scheduler;
    makecontext(&coroutines[i], body, 0);
  }
  int alive = kCoroutines;
  while (alive) {
    alive = 0;
    for (current = 0; current < kCoroutines; ++current)
      if (!finished[current]) {
        ++alive;
        swapcontext(&scheduler, &coroutines[current]);
      }
  }
  printf("%ld\n", sum);
  print_calls();
  return 0;
}
