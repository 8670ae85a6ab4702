// interrupted OFFSET STEPS [fibers]: functions with hooks call one another in hundreds of contexts, or on the stacks of
// a few coroutines, while a tracer, this program's parent, sends a signal each time the runtime comes to the function
// at OFFSET in libprof.so, STEPS instructions later. The signal's handler calls functions in new contexts as well.
// Prints "calls NAME N", counted by the functions themselves, and "signals N".

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "handler_calls.h"
#include "random_calls.h"

enum { FIBERS = 3, ROUNDS = 4 };
static ucontext_t resumer, fibers[FIBERS];
static char stacks[FIBERS][65536];
static long steps, resumes;
int step(int), resume(int);
HOOKED(step);
HOOKED(resume);
int step_body(int fiber) {
  steps++;
  swapcontext(&fibers[fiber], &resumer);
  return helper(fiber);
}
static void run_fiber(int fiber) {
  for (int i = 0; i < ROUNDS; i++) step(fiber);
}
int resume_body(int fiber) {
  resumes++;
  swapcontext(&resumer, &fibers[fiber]);
  return helper(fiber);
}
static void switch_stacks(void) {
  for (int i = 0; i < FIBERS; i++) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = stacks[i];
    fibers[i].uc_stack.ss_size = sizeof stacks[i];
    fibers[i].uc_link = &resumer;
    makecontext(&fibers[i], (void (*)(void))run_fiber, 1, i);
  }
  for (int round = 0; round <= ROUNDS; round++) {
    for (int i = 0; i < FIBERS; i++) resume(i);
  }
}

static int traced(int has_fibers) {
  ptrace(PTRACE_TRACEME, 0, 0, 0);
  raise(SIGSTOP);
  signal(SIGUSR1, on_signal);
  if (has_fibers) {
    switch_stacks();
  } else {
    left = 300;
    while (left > 0) descend(10);
  }
  printf("calls step %ld\ncalls resume %ld\n", steps, resumes);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  printf("calls handle %ld\ncalls helper %ld\nsignals %ld\n", handled, helped, handled);
  return 0;
}

static uint64_t base_of_libprof(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE* maps = fopen(path, "r");
  uint64_t base = 0;
  while (base == 0 && fgets(line, sizeof line, maps)) {
    if (strstr(line, "libprof.so")) base = strtoull(line, NULL, 16);
  }
  fclose(maps);
  return base;
}

// Lets the child go on, with a signal, until it stops or ends.
static int go_on(pid_t pid, int how, int with) {
  int status;
  if (ptrace(how, pid, 0, with) != 0 || waitpid(pid, &status, 0) != pid) exit(2);
  if (WIFEXITED(status)) exit(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) exit(3);
  return WSTOPSIG(status);
}

int main(int argc, char** argv) {
  const pid_t pid = fork();
  if (pid == 0) return traced(argc > 3);
  int status;
  waitpid(pid, &status, 0);
  const uint64_t entry = base_of_libprof(pid) + strtoull(argc > 1 ? argv[1] : "", NULL, 16);
  const long code = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
  const long trap = (code & ~0xffL) | 0xcc;
  const int instructions = argc > 2 ? atoi(argv[2]) : 1;
  int with = 0;
  for (;;) {
    ptrace(PTRACE_POKETEXT, pid, entry, trap);
    const int stopped_by = go_on(pid, PTRACE_CONT, with);
    with = stopped_by;  // one of its own is passed on
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    if (stopped_by != SIGTRAP || registers.rip != entry + 1) continue;
    registers.rip = entry;
    ptrace(PTRACE_SETREGS, pid, 0, &registers);
    ptrace(PTRACE_POKETEXT, pid, entry, code);
    for (int i = 0; i < instructions; i++) go_on(pid, PTRACE_SINGLESTEP, 0);
    with = SIGUSR1;
  }
}
