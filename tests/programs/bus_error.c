// A program that lives with SIGBUS: it maps a file that is cut off, and handles the faults by mapping memory there or
// by siglongjmp, in several threads; children die of it. It prints all that a handler can see.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

enum { kPage = 4096, kFaults = 50, kThreads = 4 };

static __thread char* mapped;
static __thread int faults, wrong, jumps;
static __thread sigjmp_buf back;
static __thread stack_t stack;

KEPT static int is_as_expected(int number, const siginfo_t* info) {
  CALLED("is_as_expected");
  return number == SIGBUS && info->si_signo == SIGBUS && info->si_code == BUS_ADRERR && info->si_errno == 0 &&
         (char*)info->si_addr == mapped + 5;
}
KEPT static void handle(int number, siginfo_t* info, void* context) {
  CALLED("handle");
  char here;
  (void)context;
  faults++;
  if (!is_as_expected(number, info) || &here < (char*)stack.ss_sp || &here >= (char*)stack.ss_sp + stack.ss_size)
    wrong++;
  if (jumps) siglongjmp(back, 1);
  if (mmap(mapped, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != mapped) _exit(9);
}

KEPT static char* map_cut_off_file(void) {
  CALLED("map_cut_off_file");
  char name[] = "/tmp/bus_error.XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0 || unlink(name) || ftruncate(fd, kPage)) exit(1);
  char* p = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) exit(1);
  p[5] = 1;
  if (ftruncate(fd, 0) || close(fd)) exit(1);
  return p;
}
KEPT static int touch(volatile char* p) {
  CALLED("touch");
  return p[5]++;
}

KEPT static void* work(void* sum) {
  CALLED("work");
  stack = (stack_t){.ss_sp = malloc(64 * 1024), .ss_size = 64 * 1024};
  if (sigaltstack(&stack, NULL)) exit(1);
  for (volatile int i = 0; i < kFaults; i = i + 1) {
    mapped = map_cut_off_file();
    jumps = i % 2;
    if (sigsetjmp(back, 1) == 0) *(int*)sum += touch(mapped) + touch(mapped);
    munmap(mapped, kPage);
  }
  *(int*)sum += faults * 100 + wrong * 100000;
  return NULL;
}

// What the kernel holds, without the C library in between.
static void print_action(const char* what) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } kept;
  struct sigaction action;
  if (syscall(SYS_rt_sigaction, SIGBUS, NULL, &kept, 8L) || sigaction(SIGBUS, NULL, &action)) exit(1);
  printf("%s: kernel %s, library %s, flags %#x\n", what,
         !kept.handler                   ? "default"
         : kept.handler == (void*)handle ? "own"
                                         : "other",
         action.sa_handler == SIG_DFL    ? "default"
         : action.sa_sigaction == handle ? "own"
                                         : "other",
         (unsigned)action.sa_flags);
}
static void print_status(void) {
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) {
    if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) || !strncmp(line, "SigCgt", 6)) fputs(line, stdout);
  }
  fclose(status);
}

// The child calls no function of the program's, so that all calls are in one profile.
static void print_end_of_child(const char* what, void (*disposition)(int), int is_blocked) {
  fflush(stdout);
  volatile char* p = map_cut_off_file();
  const pid_t pid = fork();
  if (pid == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGBUS, disposition);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGBUS);
    if (is_blocked) sigprocmask(SIG_BLOCK, &mask, NULL);
    p[5]++;
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "exit",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  munmap((void*)p, kPage);
}

int main(void) {
  CALLED("main");
  print_status();
  print_action("at the start");
  print_end_of_child("default", SIG_DFL, 0);
  print_end_of_child("ignored", SIG_IGN, 0);
  print_end_of_child("blocked", SIG_DFL, 1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, NULL);
  print_action("with a handler");
  print_status();
  pthread_t threads[kThreads];
  int sums[kThreads] = {0};
  for (int i = 1; i < kThreads; i++) pthread_create(&threads[i], NULL, work, &sums[i]);
  work(&sums[0]);
  for (int i = 1; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; i++) printf("thread %d: %d\n", i, sums[i]);
  print_calls();
  return 0;
}
