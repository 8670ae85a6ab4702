// split_stack: gcc -fsplit-stack: functions that continue on another piece of stack when the one they are on is used up, in
// threads, with longjmp back over pieces. Prints "calls NAME N".

#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "calls.h"

static __thread jmp_buf target;

KEPT int leaf(int x) {
  CALLED("leaf");
  return x;
}
KEPT int deep(int x, int leaps) {
  CALLED("deep");
  volatile char local[3000];
  memset((char*)local, x, sizeof local);
  if (x == 0 && leaps) longjmp(target, 1);
  return x == 0 ? leaf(x) : deep(x - 1, leaps) + local[5] + leaf(x);
}
KEPT void* work(void* unused) {
  CALLED("work");
  for (volatile int i = 0; i < 20; i++) {
    deep(300 + i, 0);
    if (setjmp(target) == 0) deep(100 + i, 1);
    leaf(i);
  }
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  print_calls();
}
