// A handler that comes after each instruction forks. The child may open no file, so it gets no profile; it calls functions
// with hooks in the handler, and goes on in what was interrupted. Prints "forks N", and "bad ADDRESS STATUS" for each child
// that did not end as it should.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "hooked.h"

int outer(int), inner(int);
HOOKED(outer);
HOOKED(inner);
static volatile int is_stepping, is_child;
static int forks;

int inner_body(int x) { return x + 1; }
int outer_body(int x) {
  for (volatile int i = 0; i < 400; ++i) {
  }
  return inner(x) + inner(x);
}

static void fork_here(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const int error = errno;
  if (is_child) return;
  if (!is_stepping) registers[REG_EFL] &= ~0x100;
  if (is_stepping && registers[REG_RIP] % 3 == 0) {
    const pid_t child = fork();
    if (child == 0) {
      is_child = 1;
      registers[REG_EFL] &= ~0x100;
      inner(0);
    } else {
      int status;
      waitpid(child, &status, 0);
      ++forks;
      if (status != 0) printf("bad %llx %x\n", registers[REG_RIP], status);
    }
  }
  errno = error;
}

int main(void) {
  for (int i = 0; i < 10; ++i) outer(i);  // it has all that it needs
  struct sigaction action = {.sa_sigaction = fork_here, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
  is_stepping = 1;
  __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "cc", "memory");
  outer(1);
  is_stepping = 0;
  __asm__ volatile("nop; nop");
  if (is_child) _exit(0);
  printf("forks %d\n", forks);
  return 0;
}
