// delayed_clock COMMAND...: runs it, and after each getppid of its stops it for a moment when it next asks the kernel for
// CLOCK_MONOTONIC: as if another program had the processor just then. For x86-64.

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int is_due;

static void enter_system_call(pid_t pid) {
  const struct timespec delay = {.tv_nsec = 200000000};
  struct user_regs_struct r;
  if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) return;
  if (r.orig_rax == SYS_getppid) is_due = 1;
  if (!is_due || r.orig_rax != SYS_clock_gettime || r.rdi != CLOCK_MONOTONIC) return;
  is_due = 0;
  nanosleep(&delay, NULL);
}

int main(int argc, char** argv) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (argc > 1) execvp(argv[1], argv + 1);
    perror("delayed_clock");
    return 126;
  }
  int status, is_entry = 0;
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    int signal_number = WSTOPSIG(status);
    if (signal_number == (SIGTRAP | 0x80)) {
      is_entry = !is_entry;
      if (is_entry) enter_system_call(pid);
      signal_number = 0;
    } else if (signal_number == SIGTRAP) {  // of execve
      ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD);
      signal_number = 0;
    }
    ptrace(PTRACE_SYSCALL, pid, NULL, signal_number);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
