// Threads: many, some short-lived, some cancelled, with thread-local data that has destructors.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;
static __thread long mine = 7;
static _Thread_local char aligned[96] __attribute__((aligned(64)));

KEPT static void make_key_once(void);
KEPT static void release(void* pointer) {
  CALLED("release");
  free(pointer);
}
KEPT static void make_key_once(void) {
  CALLED("make_key_once");
  pthread_key_create(&key, release);
}
KEPT static long count(long n) {
  CALLED("count");
  return n < 2 ? n : count(n - 1) + count(n - 2);
}
KEPT static void* worker(void* argument) {
  CALLED("worker");
  pthread_once(&once, make_key_once);
  pthread_setspecific(key, malloc(10));
  mine += count((long)argument % 12 + 5);
  aligned[(long)argument % 96] = 1;
  if ((unsigned long)aligned % 64) mine = -1000000;
  pthread_mutex_lock(&mutex);
  total += mine;
  pthread_mutex_unlock(&mutex);
  return (void*)mine;
}
KEPT static void clean(void* argument) {
  CALLED("clean");
  pthread_mutex_lock(&mutex);
  total += *(long*)argument;
  pthread_mutex_unlock(&mutex);
}
KEPT static void* sleeper(void* argument) {
  CALLED("sleeper");
  pthread_cleanup_push(clean, argument);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return 0;
}
KEPT static void* leaver(void* argument) {
  CALLED("leaver");
  pthread_exit((void*)(count(8) + (long)argument));
}

int main(void) {
  CALLED("main");
  pthread_t threads[16];
  for (int round = 0; round < 20; ++round) {
    for (long i = 0; i < 16; ++i) pthread_create(&threads[i], 0, i % 5 == 4 ? leaver : worker, (void*)(i + round));
    for (long i = 0; i < 16; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      total ^= (long)result;
      total ^= (long)result >> 1;
    }
    // The mutex orders nothing between threads: make the result independent of it.
    total = 0;
  }
  static long weight = 5;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, sleeper, &weight);
  usleep(20000);
  for (int i = 0; i < 4; ++i) pthread_cancel(threads[i]);
  long cancelled = 0;
  for (int i = 0; i < 4; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("%ld cancelled, %ld, mine %ld\n", cancelled, total, mine);
  print_calls();
  return 0;
}
