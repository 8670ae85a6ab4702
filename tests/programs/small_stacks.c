// small_stacks up|down|chain [ucontext]: coroutines on stacks of 4 KiB, side by side in one array, resumed at random; each
// yields deep in functions of its own, and now and then leaves some of them by longjmp. Prints "context CALLS PATH".
//
//   up, down   started by main, in order of the addresses of their stacks or against it
//   chain      each is started by the one before it, whose stack lies just above
//   ucontext   swapcontext switches stacks, not code of this program

#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "calls.h"

enum { kCoroutines = 8, kRounds = 400, kSize = 4096 };
static _Alignas(4096) char stacks[kCoroutines][kSize];
static int is_chain, uses_ucontext;

// Where each coroutine (the last: main) is, as a path of functions, and how often each path was entered.
static char paths[kCoroutines + 1][256];
static volatile int current = kCoroutines;
static struct {
  char path[256];
  long calls;
} entered[400];
static int entered_used;

KEPT static size_t enter(const char* name) {
  char* path = paths[current];
  const size_t length = strlen(path);
  if (length) strcat(path, "/");
  strcat(path, name);
  int i = 0;
  while (i < entered_used && strcmp(entered[i].path, path)) i++;
  if (i == entered_used) strcpy(entered[entered_used++].path, path);
  entered[i].calls++;
  return length;
}
static inline __attribute__((always_inline)) void leave(size_t length) { paths[current][length] = 0; }

static void* saved[kCoroutines + 1];
static ucontext_t contexts[kCoroutines + 1];

void switch_stack(void** save, void* to);
void start_on_stack(void);
asm(R"(
        .text
switch_stack:
        push %rbp
        push %rbx
        push %r12
        push %r13
        push %r14
        push %r15
        mov %rsp, (%rdi)
        mov %rsi, %rsp
        pop %r15
        pop %r14
        pop %r13
        pop %r12
        pop %rbx
        pop %rbp
        ret
start_on_stack:
        call *%rbx
        ud2
)");

static unsigned seed = 1;
static inline __attribute__((always_inline)) unsigned random_number(void) { return (seed = seed * 1103515245 + 12345) >> 16; }

// What is not noted by itself is called from where it is noted, and left out of the comparison.
static inline __attribute__((always_inline)) void change(int to) {
  const int from = current;
  if (paths[to][0] == 0) strcpy(paths[to], paths[from]);
  current = to;
  if (uses_ucontext) {
    swapcontext(&contexts[from], &contexts[to]);
  } else {
    switch_stack(&saved[from], saved[to]);
  }
}

KEPT void leaf(void) { leave(enter("leaf")); }
KEPT void yield(void) {
  const size_t at = enter("yield");
  change(kCoroutines);
  leave(at);
}
KEPT void inner(void) {
  const size_t at = enter("inner");
  yield();
  leaf();
  leave(at);
}
KEPT void outer(void) {
  const size_t at = enter("outer");
  inner();
  leaf();
  leave(at);
}
KEPT void leap(jmp_buf target, int depth) {
  const size_t at = enter("leap");
  if (depth == 0) longjmp(target, 1);
  leap(target, depth - 1);
  leave(at);
}
KEPT void resume(int i) {
  const size_t at = enter("resume");
  change(i);
  leaf();
  leave(at);
}
KEPT void body(void) {
  const int i = current;
  const size_t at = enter("body");
  const size_t inside = strlen(paths[i]);
  jmp_buf target;
  if (is_chain && i > 0) resume(i - 1);
  for (volatile int n = 0;; n++) {
    outer();
    if (n % 3 == 1 && setjmp(target) == 0) leap(target, n % 5);
    leave(inside);
    leaf();
  }
  leave(at);
}

static void prepare(int i) {
  if (uses_ucontext) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = kSize;
    contexts[i].uc_link = NULL;
    makecontext(&contexts[i], body, 0);
    return;
  }
  // Six registers, the return address, and room so that the stack is aligned when body is called.
  void** top = (void**)(stacks[i] + kSize) - 10;
  top[4] = (void*)body;  // rbx
  top[6] = (void*)start_on_stack;
  saved[i] = top;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int is_up = !strcmp(argv[1], "up");
  is_chain = !strcmp(argv[1], "chain");
  uses_ucontext = argc > 2;
  enter("main");
  for (int i = 0; i < kCoroutines; i++) prepare(i);
  if (is_chain) {
    resume(kCoroutines - 1);
  } else {
    for (int i = 0; i < kCoroutines; i++) resume(is_up ? i : kCoroutines - 1 - i);
  }
  for (int r = 0; r < kRounds; r++) resume((int)(random_number() % kCoroutines));
  for (int i = 0; i < entered_used; i++) printf("context %ld %s\n", entered[i].calls, entered[i].path);
}
