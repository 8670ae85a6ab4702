// many CALLS: 8 threads make so many calls together, and more until a thousand signals have come, while a timer sends
// 10000 signals a second, whose handler calls functions as well. Prints "calls NAME N".

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "handler_calls.h"

int one(int), two(int), both(int);
HOOKED(one);
HOOKED(two);
HOOKED(both);

enum { kThreads = 8, kSignals = 1000 };
static long rounds;
static atomic_long all_ones, all_twos, all_boths;
static __thread long ones, twos, boths;

int one_body(int x) {
  ones++;
  return x + 1;
}
int two_body(int x) {
  twos++;
  return one(x);
}
int both_body(int x) {
  boths++;
  return one(x) + two(x);
}
static void* work(void* unused) {
  for (long i = 0; i < rounds || handled <= kSignals; i++) both((int)i);
  all_ones += ones;
  all_twos += twos;
  all_boths += boths;
  return unused;
}

int main(int argc, char** argv) {
  rounds = (argc > 1 ? atol(argv[1]) : 1000000) / kThreads / 4;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const struct itimerspec often = {{0, 100000}, {0, 100000}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL)) return 1;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  printf("calls one %ld\ncalls two %ld\ncalls both %ld\n", all_ones, all_twos, all_boths);
  printf("calls handle %ld\ncalls helper %ld\n", handled, helped);
}
