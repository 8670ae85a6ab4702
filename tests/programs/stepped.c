// Stepped through, instruction by instruction, between two breakpoints of its own: frames of all kinds, leaf functions,
// switches, tail calls, functions that never return, recursion, and code that the compiler moves away.
#include <alloca.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

static volatile int sink;

KEPT static int leaf(int n) { return n * 5 + 1; }
KEPT static int saves_registers(int a, int b, int c) {
  int x = leaf(a), y = leaf(b), z = leaf(c);
  return x ^ (y + leaf(x)) ^ (z + leaf(y)) ^ leaf(z + x);
}
KEPT static int with_alloca(int n) {
  char* text = alloca((size_t)n);
  memset(text, n, (size_t)n);
  return text[n / 2] + leaf(n);
}
KEPT static int realigned(int n) {
  _Alignas(64) volatile char line[64] = {(char)n};
  return line[0] + leaf(n);
}
KEPT static int large_frame(int n) {
  volatile char room[5000];
  room[n] = (char)n;
  return leaf(room[n]);
}
KEPT static int many(int a, int b, int c, int d, int e, int f, int g, int h) {
  return leaf(a) + b + c + d + e + f + g * h;
}
KEPT static int tail(int n) { return leaf(n + 1); }
KEPT static int tail_if(int n) {
  if (n > 3) return tail(n);
  return n;
}
static int (*volatile pointer)(int) = tail_if;
KEPT static int tail_through_pointer(int n) { return pointer(n + 2); }
KEPT __attribute__((cold)) static int unlikely(int n) { return leaf(n) + 1; }
KEPT static int hot_and_cold(int n) {
  int sum = leaf(n);
  if (__builtin_expect(n % 2 == 0, 0)) {
    sum += unlikely(n);
    if (n == 6) return unlikely(sum);
  }
  return sum + leaf(sum);
}
KEPT static int choose(int n) {
  switch (n) {
    case 0:
      return leaf(1);
    case 1:
      return 12;
    case 2:
      return leaf(4) + leaf(5);
    case 3:
      return tail(2);
    case 4:
      return saves_registers(n, n, n);
    case 5:
      return 9;
    case 6:
      sink = 4;
      return 3;
    default:
      return n;
  }
}
KEPT static int recursive(int n) { return n ? recursive(n - 1) + 1 : leaf(n); }
// The call in `ends_if` may be its last instruction, so that its return address lies in the next function.
KEPT __attribute__((noreturn)) static void end(int n) {
  sink = recursive(n) + leaf(3);
  __asm__ volatile("int3");
  _exit(0);
}
KEPT static void ends_if(int n) {
  if (n > 1) end(n);
  sink = n;
}

int main(void) {
  __asm__ volatile("int3");
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    sum += choose(i) + saves_registers(i, 2, 3) + hot_and_cold(i) + tail_through_pointer(i);
    sum += many(i, 2, 3, 4, 5, 6, 7, 8);
  }
  sum += with_alloca(30) + realigned(3) + large_frame(5) + recursive(5);
  ends_if(1);
  sink = sum;
  ends_if(2);
  return 0;
}
