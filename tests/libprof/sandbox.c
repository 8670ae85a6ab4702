// sandbox ERRNO|trap CALLS: lets the kernel refuse every system call but write and those that end the program, by an error or by
// SIGSYS with a handler, and then makes so many calls in ever new contexts, in this thread. Prints "calls NAME N".

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "hooked.h"

int begin(int), on_refusal(int);
HOOKED(begin);
HOOKED(on_refusal);
static uint64_t seed = 1;
static long left, made[8], refused;
typedef int function(int);
static int descend(int);
#define DEFINE(n)          \
  function r##n;           \
  HOOKED(r##n);            \
  int r##n##_body(int x) { \
    made[n]++;             \
    return descend(x);     \
  }
DEFINE(0) DEFINE(1) DEFINE(2) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7)
static function* const functions[8] = {r0, r1, r2, r3, r4, r5, r6, r7};
static int descend(int depth) {
  if (depth == 0) return 0;
  int sum = 0;
  for (int i = 0; i < 2 && left > 0; i++, left--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    sum += functions[seed >> 61](depth - 1);
  }
  return sum;
}
int begin_body(int x) {
  for (int i = 0; i < 8; i++) functions[i](0);
  return x;
}
int on_refusal_body(int x) {
  refused++;
  return x;
}
static void handler(int sig, siginfo_t* info, void* context) {
  (void)info;
  on_refusal(sig);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

#define ALLOW(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int traps = !strcmp(argv[1], "trap");
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_rt_sigreturn),
      BPF_STMT(BPF_RET | BPF_K, traps ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  begin(1);
  setvbuf(stdout, malloc(65536), _IOFBF, 65536);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
  left = atol(argv[2]);
  while (left > 0) descend(40);
  const long so_far = refused;
  char text[1000];
  int n = 0;
  for (int i = 0; i < 8; i++) n += sprintf(text + n, "calls r%d %ld\n", i, made[i]);
  n += sprintf(text + n, "calls begin 1\ncalls on_refusal %ld\n", so_far);
  if (write(1, text, (size_t)n) != n) return 1;
  _exit(0);
}
