// live_threads COUNT CALLS: COUNT threads live at the same time, each of which makes CALLS calls in about as many contexts.
// Prints "calls NAME N" and "mappings N", how many mappings the process has then.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hooked.h"
#include "random_calls.h"

int worker(int);
HOOKED(worker);
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there, all_done;
static long calls;

int worker_body(int x) {
  while (left > 0) descend(x);
  return x;
}
static void* run(void* unused) {
  pthread_mutex_lock(&turn);
  left = calls;
  worker(10);
  pthread_mutex_unlock(&turn);
  pthread_barrier_wait(&all_there);
  pthread_barrier_wait(&all_done);
  return unused;
}

static int count_mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  int n = 0;
  for (int c; maps && (c = getc(maps)) != EOF;) n += c == '\n';
  if (maps) fclose(maps);
  return n;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int count = atoi(argv[1]);
  calls = atol(argv[2]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
  pthread_barrier_init(&all_done, NULL, (unsigned)count + 1);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  for (int i = 0; i < count; i++) {
    if (pthread_create(&threads[i], &attributes, run, NULL)) return 1;
  }
  pthread_barrier_wait(&all_there);
  printf("mappings %d\n", count_mappings());
  pthread_barrier_wait(&all_done);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  printf("calls worker %d\n", count);
  return 0;
}
