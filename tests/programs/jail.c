// Gives up the right to make system calls that the program does not need, by a filter made with prctl or with syscall, or the
// right to read the time-stamp counter. Returns 0 if that was done.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int jail(const char* how) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (!strcmp(how, "none")) return 0;
  if (!strcmp(how, "counter")) return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
  return !strcmp(how, "prctl") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                               : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
