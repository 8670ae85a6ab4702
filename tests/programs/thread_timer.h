// A timer of the calling thread like that of the samples, whose ticks it counts in `timer_ticks': what a function did up to when it
// came is in samples as well. When it comes is not known: on a busy machine the kernel may look at it ten times a second.

#ifndef TESTS_PROGRAMS_THREAD_TIMER_H
#define TESTS_PROGRAMS_THREAD_TIMER_H

#include <signal.h>
#include <time.h>
#include <unistd.h>

static __thread volatile int timer_ticks;
static void count_tick(int number) { ++timer_ticks; }
static void start_thread_timer(void) {
  sigaction(SIGRTMIN, &(struct sigaction){.sa_handler = count_tick, .sa_flags = SA_RESTART}, NULL);
  struct sigevent event = {.sigev_signo = SIGRTMIN, .sigev_notify = SIGEV_THREAD_ID};
  event._sigev_un._tid = gettid();
  timer_t timer;
  timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
  timer_settime(timer, 0, &(struct itimerspec){{0, 4000000}, {0, 4000000}}, NULL);
}

#endif
