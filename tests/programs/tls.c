// Thread-local variables: initialised, zero, over-aligned, and their addresses in the main thread and others.
#include <pthread.h>
#include <string.h>

#include "calls.h"

static __thread int first = 11;
static __thread long second;
static __thread struct { char bytes[64]; } aligned __attribute__((aligned(64))) = {"sixty-four bytes on their boundary"};
__thread char global[37] = "visible to others";
static __thread short last = -3;
static __thread double zeros[16];

KEPT static long sum(long n) {
  CALLED("sum");
  long total = first + second + last + (long)strlen(global) + (long)strlen(aligned.bytes);
  for (int i = 0; i < 16; ++i) total += (long)zeros[i];
  first += (int)n;
  second -= n;
  last = (short)(last + n % 7);
  zeros[n % 16] += 1;
  return total + ((unsigned long)&aligned % 64 ? -1000000 : 0);
}
KEPT static void* thread(void* argument) {
  CALLED("thread");
  long total = 0;
  for (long i = 0; i < 100; ++i) total = total * 3 + sum(i + (long)argument);
  return (void*)total;
}

int main(void) {
  CALLED("main");
  pthread_t threads[4];
  long total = (long)thread((void*)1);
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], 0, thread, (void*)i);
  for (int i = 0; i < 4; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    total ^= (long)result;
  }
  printf("%ld %d %ld %d %s %s\n", total, first, second, last, global, aligned.bytes);
  print_calls();
  return 0;
}
