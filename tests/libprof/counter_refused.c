// counter_refused ATTEMPTS: a thread asks the kernel so many times for something that would take the time-stamp counter
// away, and is refused, while main calls functions. Prints "calls NAME N".

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "hooked.h"

int f(int), g(int);
HOOKED(f);
HOOKED(g);
static long f_calls, g_calls;
static volatile int is_done;

int f_body(int x) {
  f_calls++;
  return x;
}
int g_body(int x) {
  g_calls++;
  return f(x) + f(x);
}
static void* ask(void* attempts) {
  for (long i = (long)attempts; i > 0; i--) {
    if (prctl(PR_SET_TSC, 7, 0, 0, 0) == 0) exit(1);
  }
  is_done = 1;
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 2 || pthread_create(&thread, NULL, ask, (void*)atol(argv[1]))) return 2;
  while (!is_done) g(1);
  pthread_join(thread, NULL);
  printf("calls f %ld\ncalls g %ld\n", f_calls, g_calls);
}
