// Signals: sent by the program itself, nested, on a stack of their own, and from a timer that interrupts hooks anywhere.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "calls.h"

static volatile sig_atomic_t seen, ticks;

KEPT static int work(int n) {
  CALLED("work");
  return n * 3 + 1;
}
KEPT static void on_user(int number) {
  CALLED("on_user");
  seen += work(number);
}
KEPT static void on_nested(int number) {
  CALLED("on_nested");
  raise(SIGUSR1);
  seen += number;
}
KEPT static void on_stack(int number, siginfo_t* info, void* context) {
  CALLED("on_stack");
  (void)info, (void)context;
  seen += work(number);
}
KEPT static void on_timer(int number) {
  CALLED("on_timer");
  work(number);
  ++ticks;
}

int main(void) {
  CALLED("main");
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_user;
  sigaction(SIGUSR1, &action, 0);
  action.sa_handler = on_nested;
  sigaction(SIGUSR2, &action, 0);
  stack_t stack;
  stack.ss_size = 64 * 1024;
  stack.ss_sp = malloc(stack.ss_size);
  stack.ss_flags = 0;
  sigaltstack(&stack, 0);
  action.sa_sigaction = on_stack;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGHUP, &action, 0);
  for (int i = 0; i < 100; ++i) {
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGHUP);
    seen += work(i);
  }
  action.sa_handler = on_timer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, 0);
  struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, 0);
  unsigned sum = 0;
  for (unsigned i = 0; ticks < 500; ++i) sum += (unsigned)work((int)i);
  setitimer(ITIMER_REAL, &never, 0);
  __asm__ volatile("" : : "r"(sum));
  printf("seen %d\n", seen);
  print_calls();
  return 0;
}
