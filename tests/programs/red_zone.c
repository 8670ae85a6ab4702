// Leaf functions that keep what they need below the stack pointer, with branches between.
#include "calls.h"

KEPT static unsigned leaf(unsigned n) {
  CALLED("leaf");
  volatile unsigned room[12];
  for (unsigned i = 0; i < 12; ++i) room[i] = n * i;
  unsigned sum = 0;
  for (unsigned i = 0; i < 12; ++i) {
    if (room[i] % 3 == 0) {
      sum += room[(i + n) % 12];
    } else if (room[i] % 5 == 1) {
      room[i] = sum;
    } else {
      sum ^= room[11 - i];
    }
  }
  return sum + room[n % 12];
}

int main(void) {
  CALLED("main");
  unsigned sum = 0;
  for (unsigned i = 0; i < 1000; ++i) sum = sum * 7 + leaf(i);
  printf("%u\n", sum);
  print_calls();
  return 0;
}
