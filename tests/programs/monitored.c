// For gcc -pg: calls that gmon.out counts.
#include "calls.h"

static volatile long sum;
KEPT static void leaf(long n) {
  CALLED("leaf");
  sum += n;
}
KEPT static void branch(long n) {
  CALLED("branch");
  for (long i = 0; i < n; ++i) leaf(i);
  ++sum;
}
int main(void) {
  CALLED("main");
  for (long i = 0; i < 5; ++i) branch(i);
  leaf(7);
  print_calls();
  return 0;
}
