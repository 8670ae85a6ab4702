// processes: forks, from nested functions, from a thread, twice in a row, and children that end in different ways. Each
// process prints "PID NAME N" for each function it called, N counted by itself from its fork on.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooked.h"

int f(int), g(int), nested(int);
HOOKED(f);
HOOKED(g);
HOOKED(nested);
static long f_calls, g_calls, nested_calls;

int f_body(int x) {
  f_calls++;
  return x + 1;
}
int g_body(int x) {
  g_calls++;
  int sum = 0;
  for (int i = 0; i < 10; i++) sum += f(x);
  return sum;
}

static void begin(void) { f_calls = g_calls = nested_calls = 0; }

// Not stdio: what a parent has buffered must not be printed by its children.
static void report(void) {
  char line[200];
  int n = snprintf(line, sizeof line, "%d f %ld\n%d g %ld\n%d nested %ld\n", getpid(), f_calls, getpid(), g_calls,
                   getpid(), nested_calls);
  if (write(1, line, (size_t)n) != n) _exit(1);
}

static void end_child(int how) {
  g(1);
  report();
  if (how == 0) exit(0);
  if (how == 1) _exit(0);
  if (how == 2) abort();
  execl("/bin/true", "true", (char*)0);
}

int nested_body(int depth) {
  nested_calls++;
  if (depth > 0) return nested(depth - 1);
  for (int how = 0; how < 4; how++) {
    if (fork() == 0) {
      begin();
      for (int i = 0; i < 100 * how; i++) g(i);
      if (how == 1 && fork() == 0) {
        begin();
        g(2);
        report();
        _exit(0);
      }
      if (how != 3) end_child(how);
      return 1;  // through frames that the parent entered
    }
    wait(NULL);
  }
  return 0;
}

static void* in_thread(void* unused) {
  (void)unused;
  g(1);
  if (fork() == 0) {
    begin();
    for (int i = 0; i < 7; i++) g(i);
    end_child(0);
  }
  wait(NULL);
  return NULL;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (nested(20) == 1) {
    f(1);
    report();
    exit(0);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  while (wait(NULL) > 0) {
  }
  report();
}
