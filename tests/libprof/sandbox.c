// sandbox BY ACTION CALLS: gives up the right to make system calls, and then makes so many calls in ever new contexts, in
// this thread. Prints "calls NAME N".
//
//   BY       prctl; seccomp: the same by syscall(2); or instruction: by a system call of its own
//   ACTION   what becomes of every system call but write and those that end the program: the number of an error; trap, a
//            SIGSYS with a handler; kill; strict, the kernel's own mode, which kills as well; or few: calls that
//            threads, children and a normal end do not need kill, one of them by its arguments; a thread and a child make
//            as many calls again (the child's are not printed), and the program ends normally

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "hooked.h"
#include "random_calls.h"

int begin(int), on_refusal(int);
HOOKED(begin);
HOOKED(on_refusal);
static long refused;

int begin_body(int x) {
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) random_functions[i](0);
  return x;
}
int on_refusal_body(int x) {
  refused++;
  return x;
}
// As if other programs had the processor for a few milliseconds.
static void wait_for_processor(void) {
  const uint64_t start = __builtin_ia32_rdtsc();
  while (__builtin_ia32_rdtsc() - start < 10000000) {
  }
}
static void handler(int sig, siginfo_t* info, void* context) {
  (void)info;
  if (refused < 50) wait_for_processor();
  on_refusal(sig);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define IF_EQUAL(value, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), ANSWER(action)

static int by_instruction(long number, long a, long b, const void* c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return (int)result;
}

static int install(const char* by, int is_strict, const struct sock_fprog* program) {
  const int mode = is_strict ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
  if (!strcmp(by, "instruction")) return by_instruction(SYS_prctl, PR_SET_SECCOMP, mode, program);
  if (!strcmp(by, "prctl")) return prctl(PR_SET_SECCOMP, mode, program);
  // What the kernel does not accept comes back as it should.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT) return 1;
  if (is_strict) return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
}

static void make_calls(long n) {
  left = n;
  while (left > 0) descend(40);
}
static void* in_thread(void* calls) {
  make_calls(*(long*)calls);
  return NULL;
}

static void report(void) {
  const long so_far = refused;
  char text[1000];
  int n = 0;
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) n += sprintf(text + n, "calls r%d %ld\n", i, made[i]);
  n += sprintf(text + n, "calls begin 1\ncalls on_refusal %ld\n", so_far);
  if (write(1, text, (size_t)n) != n) by_instruction(SYS_exit_group, 1, 0, NULL);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* action = argv[2];
  long calls = atol(argv[3]);
  const int is_strict = !strcmp(action, "strict");
  const unsigned answer = !strcmp(action, "trap")   ? SECCOMP_RET_TRAP
                          : !strcmp(action, "kill") ? SECCOMP_RET_KILL_PROCESS
                                                    : SECCOMP_RET_ERRNO | (unsigned)atoi(action);
  struct sock_filter nearly_all[] = {
      LOAD(nr),
      IF_EQUAL(SYS_write, SECCOMP_RET_ALLOW),
      IF_EQUAL(SYS_exit_group, SECCOMP_RET_ALLOW),
      IF_EQUAL(SYS_rt_sigreturn, SECCOMP_RET_ALLOW),
      ANSWER(answer),
  };
  struct sock_filter few[] = {
      LOAD(nr),
      IF_EQUAL(SYS_tkill, SECCOMP_RET_KILL_PROCESS),
      IF_EQUAL(SYS_sigaltstack, SECCOMP_RET_KILL_PROCESS),
      IF_EQUAL(SYS_clock_gettime, SECCOMP_RET_KILL_PROCESS),
      IF_EQUAL(SYS_openat, SECCOMP_RET_KILL_PROCESS),
      IF_EQUAL(SYS_ftruncate, SECCOMP_RET_KILL_PROCESS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),
      ANSWER(SECCOMP_RET_ALLOW),
      LOAD(args[2]),
      IF_EQUAL(MADV_DONTNEED, SECCOMP_RET_ALLOW),
      ANSWER(SECCOMP_RET_KILL_PROCESS),
  };
  const int is_few = !strcmp(action, "few");
  struct sock_fprog program = {sizeof nearly_all / sizeof nearly_all[0], nearly_all};
  if (is_few) program = (struct sock_fprog){sizeof few / sizeof few[0], few};
  struct sigaction on_sigsys = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &on_sigsys, NULL);
  begin(1);
  if (install(argv[1], is_strict, &program)) return 1;
  make_calls(calls);
  if (is_few) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, &calls) || pthread_join(thread, NULL)) return 1;
    const pid_t child = fork();
    if (child == 0) {
      make_calls(calls);
      exit(7);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) return 1;
  }
  report();
  if (is_few) return 0;
  by_instruction(is_strict ? SYS_exit : SYS_exit_group, 0, 0, NULL);
}
