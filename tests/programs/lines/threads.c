#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static void* work(void* argument) {
  long n = *(long*)argument, sum = 0;
  for (long i = 0; i < n; ++i) {
    if (i % 7 == 0)
      sum += i;
    else
      sum -= 1;
  }
  pthread_mutex_lock(&lock);
  total += sum;
  pthread_mutex_unlock(&lock);
  return NULL;
}
int main(void) {
  pthread_t threads[4];
  long numbers[] = {1000, 2000, 3000, 4000};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, &numbers[i]);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld\n", total);
  return 0;
}
