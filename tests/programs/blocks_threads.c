/* Threads that run the same blocks at the same time, and more threads after them. */

#include <pthread.h>
#include <stdio.h>

static void* work(void* argument) {
  long odd = 0;
  for (long i = 0; i < 300000; i++) {
    if (i % 3 == 1) odd++;
  }
  *(long*)argument = odd;
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  long results[4], sum = 0;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &results[i]);
    for (int i = 0; i < 4; i++) {
      pthread_join(threads[i], NULL);
      sum += results[i];
    }
  }
  printf("%ld\n", sum);
  return 0;
}
