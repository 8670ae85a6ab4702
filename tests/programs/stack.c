// What functions do with the stack: large frames, alloca, variable arrays, over-aligned locals, the red zone, large
// arguments and results by value, nested functions' frames.
#include <alloca.h>
#include <stdint.h>
#include <string.h>

#include "calls.h"

KEPT static int large(int n) {
  CALLED("large");
  volatile char room[300000];
  for (unsigned i = 0; i < sizeof room; i += 4096) room[i] = (char)(i + (unsigned)n);
  return room[4096 * (n % 60)];
}
KEPT static int dynamic(int n) {
  CALLED("dynamic");
  char* room = alloca((size_t)n * 13 + 1);
  memset(room, n, (size_t)n * 13 + 1);
  char array[n + 1];
  memset(array, n + 1, sizeof array);
  return room[n] + array[n / 2] + ((uintptr_t)room % 16 ? 100000 : 0);
}
KEPT static int over_aligned(int n) {
  CALLED("over_aligned");
  _Alignas(64) volatile char block[64];
  _Alignas(32) volatile int other[8] = {n, 2, 3, 4, 5, 6, 7, 8};
  block[n % 64] = (char)n;
  return (uintptr_t)block % 64 == 0 && (uintptr_t)other % 32 == 0 ? block[n % 64] + other[n % 8] : -100000;
}
KEPT static int aligned_stack(double x) {
  CALLED("aligned_stack");
  _Alignas(16) double pair[2] = {x, x + 1};
  __asm__ volatile("movaps %0, %%xmm5" : : "m"(pair) : "xmm5");
  return (int)(pair[0] * pair[1]) + ((uintptr_t)__builtin_frame_address(0) % 16 ? 1 : 0) * 0;
}
// A leaf with locals in the red zone.
KEPT static int red_zone(int n) {
  CALLED("red_zone");
  volatile int local[20];
  for (int i = 0; i < 20; ++i) local[i] = n + i;
  return local[n % 20] + local[(n + 7) % 20];
}
struct Big {
  long values[20];
};
KEPT static struct Big by_value(struct Big big, int n) {
  CALLED("by_value");
  for (int i = 0; i < 20; ++i) big.values[i] += n * i;
  return big;
}
KEPT static int return_address(int n) {
  CALLED("return_address");
  return __builtin_return_address(0) != 0 ? n : -1;
}

int main(void) {
  CALLED("main");
  long sum = 0;
  struct Big big = {{1, 2, 3}};
  for (int i = 1; i < 200; ++i) {
    sum = sum * 3 + large(i) + dynamic(i % 50) + over_aligned(i) + aligned_stack(i * .5) + red_zone(i) + return_address(i);
    big = by_value(big, i);
  }
  printf("%ld %ld %ld\n", sum, big.values[3], big.values[19]);
  print_calls();
  return 0;
}
