// live_threads COUNT CALLS [full]: COUNT threads live at the same time, each of which makes CALLS calls in about as many
// contexts. Prints "calls NAME N" and "mappings N", how many mappings the process has then. full: as many of them as there can
// be, since before the calls are made.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hooked.h"
#include "random_calls.h"

int worker(int);
HOOKED(worker);
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t may_begin, all_there, all_done;
static long calls;

int worker_body(int x) {
  while (left > 0) descend(x);
  return x;
}
static void* run(void* unused) {
  pthread_barrier_wait(&may_begin);
  pthread_mutex_lock(&turn);
  left = calls;
  worker(10);
  pthread_mutex_unlock(&turn);
  pthread_barrier_wait(&all_there);
  pthread_barrier_wait(&all_done);
  return unused;
}

// Every other page of a large mapping becomes another mapping, until the kernel allows no more; at most a million of them.
static void use_up_mappings(void) {
  const size_t size = (size_t)1 << 33;
  char* p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  for (char* end = p + size; p < end && mprotect(p + 4096, 4096, PROT_READ) == 0;) p += 8192;
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
  pthread_barrier_init(&may_begin, NULL, (unsigned)count + 1);
  pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
  pthread_barrier_init(&all_done, NULL, (unsigned)count + 1);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  for (int i = 0; i < count; i++) {
    if (pthread_create(&threads[i], &attributes, run, NULL)) return 1;
  }
  if (argc > 3) use_up_mappings();
  pthread_barrier_wait(&may_begin);
  pthread_barrier_wait(&all_there);
  printf("mappings %d\n", count_mappings());
  pthread_barrier_wait(&all_done);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  printf("calls worker %d\n", count);
  return 0;
}
