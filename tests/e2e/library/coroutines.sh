# Coroutines whose calls alternate between two libraries and the program, signal handlers in one library that interrupt hooks of
# the other, and jumps over frames of both.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >counted.h <<'C'
extern long counts[16];
enum { scheduler_spawn, scheduler_yield, scheduler_run, task_step, task_body, on_tick, tick_helper, jump_over, jumper, host_step };
#define COUNT(f) __atomic_fetch_add(&counts[f], 1, __ATOMIC_RELAXED)
#define KEPT __attribute__((noinline))
void spawn(int number, void (*body)(int)), yield(void), run_all(void), body_of_task(int number), tick(int), jump_out(int depth);
int step_of_task(int x), step_of_host(int x);
C
cat >scheduler.c <<'C'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include "counted.h"
enum { kTasks = 4 };
static ucontext_t scheduler, tasks[kTasks];
static char stacks[kTasks][65536];
static int current, is_done[kTasks];
static void (*bodies[kTasks])(int);
static void enter(int number) {
  bodies[number](number);
  is_done[number] = 1;
}
KEPT void spawn(int number, void (*body)(int)) {
  COUNT(scheduler_spawn);
  bodies[number] = body;
  is_done[number] = 0;
  getcontext(&tasks[number]);
  tasks[number].uc_stack.ss_sp = stacks[number];
  tasks[number].uc_stack.ss_size = sizeof stacks[number];
  tasks[number].uc_link = &scheduler;
  makecontext(&tasks[number], (void (*)(void))enter, 1, number);
}
KEPT void yield(void) {
  COUNT(scheduler_yield);
  swapcontext(&tasks[current], &scheduler);
}
KEPT void run_all(void) {
  COUNT(scheduler_run);
  for (int left = 1; left;) {
    left = 0;
    for (current = 0; current < kTasks; ++current) {
      if (is_done[current]) continue;
      left = 1;
      swapcontext(&scheduler, &tasks[current]);
    }
  }
}
static volatile int ticks;
KEPT static int help_tick(int x) {
  COUNT(tick_helper);
  return x + step_of_task(x);
}
void tick(int signal_number) {
  COUNT(on_tick);
  ticks += help_tick(signal_number) != 0;
}
C
cat >tasks.c <<'C'
#include <setjmp.h>
#include "counted.h"
KEPT int step_of_task(int x) {
  COUNT(task_step);
  return x * 3 + 1;
}
KEPT void body_of_task(int number) {
  COUNT(task_body);
  for (int i = 0; i < 2000; ++i) {
    if (step_of_task(i) == -1) return;
    if (i % 7 == number) yield();
    if (i % 5 == number) step_of_host(i);
    if (i % 50 == number) jump_out(number + 1);
  }
}
static _Thread_local jmp_buf place;
KEPT static void jump(int depth) {
  COUNT(jumper);
  if (depth == 0) longjmp(place, 1);
  if (step_of_host(depth) != -1) jump(depth - 1);
}
KEPT void jump_out(int depth) {
  COUNT(jump_over);
  if (setjmp(place) == 0) jump(depth);
}
C
cat >host.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include "counted.h"
long counts[16];
KEPT int step_of_host(int x) {
  COUNT(host_step);
  return step_of_task(x) + 1;
}
static const char* const names[] = {"spawn", "yield", "run_all", "step_of_task", "body_of_task", "tick", "help_tick",
                                    "jump_out", "jump", "step_of_host"};
static char signal_stack[65536];
int main(int argc, char** argv) {
  const stack_t stack = {signal_stack, 0, sizeof signal_stack};
  sigaltstack(&stack, 0);
  const struct sigaction action = {.sa_handler = tick, .sa_flags = argc > 1 ? SA_RESTART | SA_ONSTACK : SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  const struct itimerval times = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &times, 0);
  while (counts[on_tick] < 200) {
    for (int i = 0; i < 4; ++i) spawn(i, body_of_task);
    run_all();
  }
  const struct itimerval none = {0};
  setitimer(ITIMER_REAL, &none, 0);
  for (int i = 0; i < 10; ++i)
    printf("calls %s %ld\n", names[i], counts[i]);
  return 8;
}
C
compile plain/libtasks.so tasks.c -O1 -I. -shared -fPIC -Wl,-soname,libtasks.so
compile plain/libscheduler.so scheduler.c -O1 -I. -shared -fPIC -Wl,-soname,libscheduler.so
compile host host.c -O1 -I. plain/libtasks.so plain/libscheduler.so -Wl,--export-dynamic
library libtasks.so
library libscheduler.so
rewrite host --no-imports

for host in host host.prof; do
  for how in "" on-signal-stack; do
    for PROFTYPE in time adaptive; do
      export PROFTYPE
      rm -rf profiles
      mkdir profiles
      # shellcheck disable=SC2086 # one or none
      PROFDIR=profiles LD_LIBRARY_PATH=copy run ./$host $how
      [ "$status" = 8 ] && [ ! -s stderr ] || fail "$host $how: status $status, says $(cat stderr)"
      [ $host = host.prof ] || sed -i '/step_of_host/d' stdout
      same_calls "$host $how $PROFTYPE" <stdout
    done
  done
done
