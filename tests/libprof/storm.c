// storm PROCESSES: forks so many children, as fast as they come, from main, from a thread and as a daemon from children of
// children; makes them also by vfork, posix_spawn and system, which must not disturb the parent's calls; and runs itself
// again five times under the same process id. Each process prints "PID ROUND NAME N" for its calls.

#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooked.h"

int f(int), g(int);
HOOKED(f);
HOOKED(g);
static long f_calls, g_calls;
static int execs;

int f_body(int x) {
  f_calls++;
  return x;
}
int g_body(int x) {
  g_calls++;
  return f(x) + f(x);
}
static void report(void) {
  char line[100];
  const int n = snprintf(line, sizeof line, "%d %d f %ld\n%d %d g %ld\n", getpid(), execs, f_calls, getpid(), execs, g_calls);
  if (write(1, line, (size_t)n) != n) _exit(1);
}
static void fork_one(int i) {
  const pid_t pid = fork();
  if (pid != 0) return;
  f_calls = g_calls = 0;
  for (int n = 0; n <= i % 7; n++) g(n);
  if (i % 100 == 0 && daemon(1, 1) == 0) {  // a child of its own, without its parent
    f_calls = g_calls = 0;
    g(1);
  } else if (i % 100 == 0) {
    _exit(1);
  }
  report();
  _exit(0);
}
static void reap(int most_left) {
  static int running;
  running++;
  for (; running > most_left && wait(NULL) > 0;) running--;
}
static void* in_thread(void* processes) {
  for (int i = 0; i < (int)(long)processes; i++) {
    fork_one(i);
    g(i);
    reap(200);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int processes = atoi(argv[1]);
  execs = argc > 2 ? atoi(argv[2]) : 0;
  extern char** environ;
  char* arguments[] = {"true", NULL};
  for (int i = 0; i < 10; i++) {
    pid_t pid;
    g(i);
    if (i % 3 == 0 && (pid = vfork()) == 0) {
      execv("/bin/true", arguments);
      _exit(1);
    }
    if (i % 3 == 1 && posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ)) return 1;
    if (i % 3 == 2 && system("exit 0")) return 1;
    if (i % 3 != 2) waitpid(pid, NULL, 0);
    f(i);
  }
  if (execs == 0) {
    for (int i = 0; i < processes / 2; i++) {
      fork_one(i);
      reap(200);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, (void*)(long)(processes / 2));
    pthread_join(thread, NULL);
    while (wait(NULL) > 0) {
    }
  }
  report();
  if (execs == 5) return 0;
  char number[12];
  snprintf(number, sizeof number, "%d", execs + 1);
  execl("/proc/self/exe", argv[0], argv[1], number, (char*)NULL);
  return 1;
}
