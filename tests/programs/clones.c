// clone(2) used directly: a child with the parent's memory on a stack of its own, one with a copy of the memory, and
// both by the system call alone, from a function that so leaves twice.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

static volatile int shared;

KEPT static int work(int n) {
  CALLED("work");
  return n * 2 + 1;
}
KEPT static int child(void* argument) {
  CALLED("child");
  shared = shared + work(*(int*)argument);
  return 3;
}
static int status_of(int pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
__attribute__((noinline)) static long fork_alone(void) {
  long result = SYS_clone;
  __asm__ volatile("mov $56,%%eax\n syscall" : "=a"(result) : "D"(SIGCHLD), "S"(0), "d"(0) : "rcx", "r11", "memory");
  return result;
}

int main(void) {
  CALLED("main");
  const int size = 64 * 1024;
  char* stack = malloc((size_t)size);
  int number = 20, sum = 0;
  for (int i = 0; i < 20; ++i) {
    // The parent waits until the child is done, so one counter and one tree are enough.
    sum += status_of(clone(child, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &number));
    sum += work(i);
  }
  fflush(stdout);
  for (int i = 0; i < 5; ++i) {
    sum += status_of(clone(child, stack + size, SIGCHLD, &number));
    const long pid = fork_alone();
    if (pid == 0) _exit(work(i));
    sum += status_of((int)pid);
  }
  printf("%d %d\n", shared, sum);
  print_calls();
  return 0;
}
