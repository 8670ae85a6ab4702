// threads ROUNDS: four threads, each of which calls functions of different cost, two of them under a lock.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noipa))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t shared[4096];
static unsigned rounds = 1;

KEPT uint32_t next(uint32_t x) { return x * 1664525 + 1013904223; }

KEPT uint32_t hash(uint32_t x) {
  for (int i = 0; i < 30; ++i) x = (x ^ (x >> 15)) * 0x2c1b3c6d;
  return x;
}

KEPT uint32_t sorted(uint32_t x) {
  uint32_t v[40];
  for (int i = 0; i < 40; ++i) v[i] = x = next(x);
  for (int i = 1; i < 40; ++i) {
    for (int j = i; j > 0 && v[j] < v[j - 1]; --j) {
      const uint32_t t = v[j];
      v[j] = v[j - 1];
      v[j - 1] = t;
    }
  }
  return v[20];
}

KEPT uint32_t change(uint32_t x) {
  for (uint32_t i = 0; i < 100; ++i) shared[(x + i * 41) % 4096] += i;
  return shared[x % 4096];
}

KEPT uint32_t locked(uint32_t x) {
  pthread_mutex_lock(&mutex);
  x += change(x);
  pthread_mutex_unlock(&mutex);
  return x;
}

KEPT void* worker(void* number) {
  uint32_t x = (uint32_t)(uintptr_t)number;
  for (unsigned i = 0; i < rounds; ++i) {
    x = hash(next(x));
    if (i % 4 == 0) x = sorted(x);
    if (i % 16 == 0) x = locked(x);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = (unsigned)atoi(argv[1]);
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    if (pthread_create(&threads[i], NULL, worker, (void*)i) != 0) return 1;
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
