// Children by fork, two generations. Each process prints its own calls; the sum must be that of all the profiles.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

KEPT static int work(int n) {
  CALLED("work");
  return n < 2 ? 1 : work(n - 1) + work(n - 2);
}
KEPT static int child(int n) {
  CALLED("child");
  return work(n) % 100;
}

int main(void) {
  CALLED("main");
  int sum = work(10);
  for (int i = 0; i < 3; ++i) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
      forget_calls();
      int result = child(i + 5);
      if (i == 2) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
          forget_calls();
          result = child(3) + 1;
          print_calls();
          exit(result);
        }
        int status;
        waitpid(grandchild, &status, 0);
        result += WEXITSTATUS(status);
      }
      print_calls();
      if (i == 1) _exit(result);
      exit(result);
    }
    int status;
    waitpid(pid, &status, 0);
    sum = sum * 3 + WEXITSTATUS(status) + work(i);
  }
  printf("%d\n", sum);
  print_calls();
  return 0;
}
