// fork_in_handler FORKS HOW: a signal handler that interrupts the hooks of functions calling one another at random
// forks; the child returns from the handler into the hook that was interrupted, goes on for a while, and ends. Every second
// child does the same once more. HOW: hooks, the handler has hooks; instruction, it has hooks and forks by a system call of its own;
// plain, it has none; syscall, it has none and forks by syscall(2). Prints "bad N", the number of children that did not end as they should, and for each process
// "PID NAME N" for the functions called, counted by themselves from its fork on.

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooked.h"

#define FUNCTIONS 8
static volatile long counts[FUNCTIONS], handled;
static volatile int left, generation, bad;
static const char* how;
static int has_hooks;
static uint64_t seed = 1;

typedef int function(int);
static int descend(int depth);
#define DEFINE(n)          \
  function f##n;           \
  HOOKED(f##n);            \
  int f##n##_body(int x) { \
    counts[n]++;           \
    return descend(x);     \
  }
DEFINE(0) DEFINE(1) DEFINE(2) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7)
static function* const table[FUNCTIONS] = {f0, f1, f2, f3, f4, f5, f6, f7};

static unsigned next_random(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33);
}
static int descend(int depth) {
  unsigned calls = depth > 0 ? next_random() % 3 : 0;
  while (calls--) table[next_random() % FUNCTIONS](depth - 1);
  return depth;
}

static void set_timer(int microseconds) {
  const struct itimerval t = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &t, NULL);
}

static void report(void) {
  char text[1024];
  int n = 0;
  for (int i = 0; i < FUNCTIONS; i++) n += sprintf(text + n, "%d f%d %ld\n", getpid(), i, counts[i]);
  n += sprintf(text + n, "%d handle %ld\n", getpid(), has_hooks ? handled : 0);
  if (write(1, text, (size_t)n) != n) _exit(2);
}

static pid_t make_child(void) {
  if (!strcmp(how, "syscall")) return (pid_t)(left % 2 ? syscall(SYS_fork) : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (strcmp(how, "instruction")) return fork();
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(SYS_fork) : "rcx", "r11", "memory");
  return (pid_t)result;
}

int handle(int);
HOOKED(handle);
int handle_body(int x) {
  handled++;
  if (left == 0) return x;
  left--;
  const pid_t pid = make_child();
  if (pid == 0) {
    memset((void*)counts, 0, sizeof counts);
    handled = bad = 0;
    left = generation++ == 0 && left % 2;
    set_timer(left ? 150 : 0);
    return x;
  }
  int status;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) bad++;
  return x;
}
static void handler(int sig) {
  if (has_hooks) {
    handle(sig);
  } else {
    handle_body(sig);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  left = atoi(argv[1]);
  how = argv[2];
  has_hooks = !strcmp(how, "hooks") || !strcmp(how, "instruction");
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  set_timer(150);
  while (left > 0) table[next_random() % FUNCTIONS](14);
  set_timer(0);
  if (generation > 0) {
    for (int i = 0; i < 200; i++) table[next_random() % FUNCTIONS](10);
    report();
    _exit(bad != 0);
  }
  report();
  printf("bad %d\n", bad);
}
