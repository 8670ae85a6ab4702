// Jumps into the middle of a function from elsewhere: __builtin_longjmp, which is a jump in the code itself, and gotos
// out of nested functions, where the compiler has them. Between functions of a few bytes, whose entries need room
// nearby.
#include "calls.h"

static volatile int depth;
static void* buffer[5];

#define SMALL(NAME) \
  KEPT int NAME(int x) { return x; }

KEPT static void leave(int n) {
  CALLED("leave");
  if (n == 0) __builtin_longjmp(buffer, 1);
  leave(n - 1);
  __asm__ volatile("");
}

SMALL(a)
SMALL(ab)
SMALL(abc)
SMALL(abcd)
SMALL(abcde)

KEPT int catcher(int x) {
  if (__builtin_setjmp(buffer)) return depth;
  leave(depth);
  return x;
}

SMALL(v)
SMALL(vw)
SMALL(vwx)
SMALL(vwxy)
SMALL(vwxyz)
SMALL(p)
SMALL(pq)
SMALL(pqr)
SMALL(pqrs)
SMALL(pqrst)

KEPT static int call(int (*f)(int)) {
  CALLED("call");
  return f(3);
}

#ifndef __clang__
KEPT static int apply(int (*f)(int), int x) {
  CALLED("apply");
  return f(x) + 1;
}

KEPT static int search(int limit) {
  __label__ found;
  CALLED("search");
  int at = 0;
  int visit(int x) {
    CALLED("visit.0");  // as gcc calls it
    at = x;
    if (x == limit) goto found;
    return apply(visit, x + 1);
  }
  return apply(visit, 0);
found:
  return at * 2;
}
#endif

int main(void) {
  CALLED("main");
  long sum = 0;
  for (int i = 0; i < 50; ++i) {
    depth = i % 7;
    sum += call(catcher);
    sum += call(a) + call(ab) + call(abc) + call(abcd) + call(abcde) + call(v) + call(vw) + call(vwx) + call(vwxy) +
           call(vwxyz);
#ifndef __clang__
    sum += search(i % 5);
#endif
  }
  printf("%ld\n", sum);
  printf("calls catcher 50\ncalls a 50\ncalls abcde 50\ncalls v 50\ncalls vwxyz 50\n");
  print_calls();
  return 0;
}
