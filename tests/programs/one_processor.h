// For a program that stops and steps another one: both stay on the processor that it is on. Waking up another processor for
// each step would take several times as long as the step.

#ifndef TESTS_PROGRAMS_ONE_PROCESSOR_H
#define TESTS_PROGRAMS_ONE_PROCESSOR_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>

// Before the other one is started, which inherits it.
static inline void stay_on_one_processor(void) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(sched_getcpu(), &own);
  sched_setaffinity(0, sizeof own, &own);
}

#endif
