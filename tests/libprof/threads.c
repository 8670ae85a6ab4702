// threads COUNT ROUNDS CALLS: creates and joins COUNT threads, ROUNDS times; each makes CALLS calls, of the one function or
// the other. Half of them are detached. Prints "calls NAME N".

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hooked.h"

int even(int), odd(int), worker(int);
HOOKED(even);
HOOKED(odd);
HOOKED(worker);
static atomic_long even_calls, odd_calls, worker_calls, running;
static int calls;

int even_body(int x) { return x; }
int odd_body(int x) { return x; }
int worker_body(int n) {
  for (int i = 0; i < calls; i++) (i % 2 ? odd : even)(n);
  return n;
}

static void* run(void* argument) {
  worker((int)(uintptr_t)argument);
  worker_calls++;
  even_calls += (calls + 1) / 2;
  odd_calls += calls / 2;
  running--;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int count = atoi(argv[1]), rounds = atoi(argv[2]);
  calls = atoi(argv[3]);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  for (int r = 0; r < rounds; r++) {
    for (int i = 0; i < count; i++) {
      running++;
      if (pthread_create(&threads[i], NULL, run, (void*)(uintptr_t)i)) return 1;
      if (i % 2) pthread_detach(threads[i]);
    }
    for (int i = 0; i < count; i += 2) pthread_join(threads[i], NULL);
    while (running) usleep(100);
  }
  printf("calls even %ld\ncalls odd %ld\ncalls worker %ld\n", even_calls, odd_calls, worker_calls);
}
