// exec over oneself, vfork, posix_spawn, system and popen: other programs start from a profiled one.
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

extern char** environ;

KEPT static int work(int n) {
  CALLED("work");
  return n * 2;
}
KEPT static int spawn(char* const* arguments) {
  CALLED("spawn");
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, arguments[0], 0, 0, arguments, environ) == 0) waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}
KEPT static int vforked(char* const* arguments) {
  CALLED("vforked");
  int status = -1;
  pid_t pid = vfork();
  if (pid == 0) {
    execv(arguments[0], arguments);
    _exit(99);
  }
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  CALLED("main");
  if (argc > 1) {
    printf("executed with %s: %d\n", argv[1], work(3));
    print_calls();
    return 3;
  }
  char* const arguments[] = {"/bin/sh", "-c", "exit 7", 0};
  printf("%d %d ", spawn(arguments), vforked(arguments));
  fflush(stdout);
  printf("%d ", WEXITSTATUS(system("exit 5")));
  char line[100] = "";
  FILE* pipe = popen("echo from a pipe", "r");
  if (!pipe || !fgets(line, sizeof line, pipe)) return 1;
  pclose(pipe);
  printf("%d %s", work(1), line);
  print_calls();
  execl("/proc/self/exe", argv[0], "again", (char*)0);
  return 1;
}
