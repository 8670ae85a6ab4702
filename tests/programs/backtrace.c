// A timer interrupts functions of all kinds, and their hooks, anywhere: from its handler, every backtrace must lead
// back to main's callers, through main, whatever the function was about to do.
#include <alloca.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "calls.h"

enum { kMax = 100, kWanted = 400 };
static void* bottom[kMax];  // where main was called from, outermost last
static int bottom_depth;
static volatile int seen, complete, deepest;
static volatile int sink;

KEPT static void on_timer(int number) {
  CALLED("on_timer");
  (void)number;
  void* frames[kMax];
  const int depth = backtrace(frames, kMax);
  if (depth > bottom_depth && !memcmp(frames + depth - bottom_depth, bottom, (size_t)bottom_depth * sizeof *bottom))
    ++complete;
  if (depth > deepest) deepest = depth;
  ++seen;
}
KEPT static int leaf(int n) {
  CALLED("leaf");
  return n * 7 + 1;
}
KEPT static int jump(int n) {
  CALLED("jump");
  return leaf(n + 1);
}
KEPT static int with_room(int n) {
  CALLED("with_room");
  char* room = alloca((size_t)n % 50 + 1);
  room[0] = (char)n;
  return leaf(room[0]);
}
KEPT static int deep(int n) {
  CALLED("deep");
  if (n == 0) return leaf(n);
  const int a = deep(n - 1), b = jump(n);
  return a + b + with_room(a);
}
KEPT static int choose(int n) {
  CALLED("choose");
  switch (n % 7) {
    case 0:
      return leaf(n);
    case 1:
      return jump(n);
    case 2:
      return 3;
    case 3:
      return with_room(n);
    case 4:
      return n;
    case 5:
      return leaf(n) + leaf(n);
    default:
      return 8;
  }
}

int main(void) {
  CALLED("main");
  void* frames[kMax];
  const int depth = backtrace(frames, kMax);
  bottom_depth = depth - 1;
  memcpy(bottom, frames + 1, (size_t)bottom_depth * sizeof *bottom);
  signal(SIGALRM, on_timer);
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, 0);
  for (int i = 0; seen < kWanted; ++i) sink = deep(i % 20) + choose(i);
  setitimer(ITIMER_REAL, &never, 0);
  if (complete != seen) printf("%d of %d backtraces are complete\n", complete, seen);
  printf("%d %d\n", bottom_depth > 1, deepest > bottom_depth + 4);
  print_calls();
  return 0;
}
