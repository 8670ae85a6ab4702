// Three threads that wait for each other, and for a line on standard input, at known points: in plain code, deep in
// recursion, before a longjmp, in a signal handler. At each point the program prints the calls made since the one before.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "calls.h"

enum { kThreads = 3, kDepth = 200 };

static pthread_barrier_t barrier;
static volatile unsigned sum;

KEPT static void point(int is_main) {
  CALLED("point");
  pthread_barrier_wait(&barrier);
  if (is_main) {
    print_calls();
    puts("waiting");
    fflush(stdout);
    if (getchar() == EOF) exit(1);
    forget_calls();
  }
  pthread_barrier_wait(&barrier);
}

KEPT static void leaf(void) {
  CALLED("leaf");
  sum++;
}
KEPT static void other(void) {
  CALLED("other");
  sum++;
}

KEPT static int down(int depth, int is_main) {
  CALLED("down");
  if (depth == 0) {
    point(is_main);
    for (int i = 0; i < 10; i++) leaf();
    point(is_main);
    return 0;
  }
  const int result = down(depth - 1, is_main) + 1;
  other();
  return result;
}

static __thread jmp_buf back;
KEPT static void jump(int depth, int is_main) {
  CALLED("jump");
  if (depth == 0) {
    point(is_main);
    longjmp(back, 1);
  }
  jump(depth - 1, is_main);
  other();
}

static __thread int main_thread;
static void handle(int signal) {
  CALLED("handle");
  (void)signal;
  leaf();
  point(main_thread);
  leaf();
}

KEPT static void* work(void* is_main) {
  CALLED("work");
  main_thread = is_main != NULL;
  for (int i = 0; i < 1000; i++) leaf();
  point(main_thread);
  for (int i = 0; i < 1000; i++) i % 3 ? leaf() : other();
  down(kDepth, main_thread);
  point(main_thread);
  if (setjmp(back) == 0) jump(30, main_thread);
  for (int i = 0; i < 20; i++) other();
  point(main_thread);
  raise(SIGUSR1);
  other();
  point(main_thread);
  for (int i = 0; i < 1000; i++) leaf();
  return NULL;
}

int main(void) {
  CALLED("main");
  signal(SIGUSR1, handle);
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (int i = 1; i < kThreads; i++) pthread_create(&threads[i], NULL, work, NULL);
  work(&barrier);
  for (int i = 1; i < kThreads; i++) pthread_join(threads[i], NULL);
  print_calls();
  puts("done");
}
