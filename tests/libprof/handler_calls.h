// What a signal handler calls: a function with hooks that calls another twice; both count their calls.

#ifndef TESTS_LIBPROF_HANDLER_CALLS_H
#define TESTS_LIBPROF_HANDLER_CALLS_H

#include <stdatomic.h>

#include "hooked.h"

static atomic_long handled, helped;

int helper(int), handle(int);
HOOKED(helper);
HOOKED(handle);
int helper_body(int x) {
  helped++;
  return x;
}
int handle_body(int x) {
  handled++;
  return helper(x) + helper(x);
}
static void on_signal(int signal_number) { handle(signal_number); }

#endif
