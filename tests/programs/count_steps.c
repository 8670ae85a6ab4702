/* count_steps PROGRAM [ARG...]: runs it step by step, and prints how many instructions it ran. One that repeats itself (rep) is
   one. */

#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one_processor.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  stay_on_one_processor();
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(argv[1], argv + 1);
    _exit(127);
  }
  int status;
  long steps = 0;
  waitpid(child, &status, 0);
  while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
    const long before = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), 0);
    ptrace(PTRACE_SINGLESTEP, child, 0, 0);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) || ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), 0) != before)
      ++steps;
  }
  printf("%ld\n", steps);
  return 0;
}
