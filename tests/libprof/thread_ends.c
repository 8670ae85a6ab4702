// thread_ends exit|_exit|quick_exit|main|pthread_exit|exec: ten threads make some calls and wait; then one of them ends the
// process (main: it returns from main; pthread_exit: main has left, and the last thread to end ends the process; exec: by
// another program). Prints "calls NAME N".

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooked.h"

int work(int), leaf(int), end(int);
HOOKED(work);
HOOKED(leaf);
HOOKED(end);

enum { kThreads = 10, kCalls = 1000 };
static const char* how;
static pthread_barrier_t all_have_worked;

int leaf_body(int x) { return x; }
int end_body(int x) {
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "quick_exit")) quick_exit(0);
  if (!strcmp(how, "exec")) execl("/bin/true", "true", (char*)NULL);
  return x;
}
int work_body(int n) {
  for (int i = 0; i < kCalls; i++) leaf(i);
  pthread_barrier_wait(&all_have_worked);
  if (n == 4 && strcmp(how, "main")) end(n);
  if (strcmp(how, "pthread_exit")) pause();
  return n;
}
static void* thread(void* n) {
  work((int)(long)n);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  how = argv[1];
  const int ends = strcmp(how, "main") != 0;
  printf("calls work %d\ncalls leaf %d\ncalls end %d\n", kThreads, kThreads * kCalls, ends);
  fflush(stdout);
  pthread_barrier_init(&all_have_worked, NULL, kThreads + 1);
  for (long i = 0; i < kThreads; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, thread, (void*)i)) return 1;
  }
  pthread_barrier_wait(&all_have_worked);
  if (!strcmp(how, "main")) return 0;
  if (!strcmp(how, "pthread_exit")) pthread_exit(NULL);
  for (;;) pause();
}
