// Says how many calls it has made, then kills itself in the middle of one.
#include <signal.h>
#include <unistd.h>

#include "calls.h"

KEPT static int leaf(int n) {
  CALLED("leaf");
  return n + 1;
}
KEPT static int middle(int n) {
  CALLED("middle");
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += leaf(i);
  if (n == 12345) {
    print_calls();
    kill(getpid(), SIGKILL);
  }
  return sum;
}

int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 1000000; ++i) sum += middle(i);
  printf("never printed %d\n", sum);
  return 0;
}
