/* Ends in ways that gcov has no counts of: kill, _exit in children of threads, vfork. */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) void counted(int n) {
  for (int i = 0; i < n; i++)
    sink = i;
}

static void *fork_in_thread(void *argument) {
  for (int i = 0; i < 3; i++) {
    counted(10);
    const pid_t child = fork();
    if (child == 0) {
      counted(100);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  return argument;
}

int main(int argc, char **argv) {
  pthread_t threads[4];
  (void)argc;
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, fork_in_thread, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  const pid_t child = vfork();
  if (child == 0) {
    counted(7);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  counted(1000);
  puts("counted");
  fflush(stdout);
  if (strcmp(argv[1], "kill") == 0)
    raise(SIGKILL);
  return 0;
}
