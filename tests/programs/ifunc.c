// Functions chosen at load time: the resolver runs while the program is still being relocated.
#include "calls.h"

KEPT static int generic(int n) {
  CALLED("generic");
  return n * 3;
}
KEPT static int special(int n) {
  CALLED("special");
  return n * 5;
}
KEPT static int choose(void) {
  CALLED("choose");
  return __builtin_cpu_supports("sse2") != 0;
}
KEPT static int (*resolve(void))(int) {
  CALLED("resolve");
  __builtin_cpu_init();
  return choose() ? special : generic;
}
int picked(int n) __attribute__((ifunc("resolve")));
static int (*volatile pointer)(int) = picked;

int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += picked(i) - pointer(i) + picked(1);
  printf("%d %d\n", sum, pointer == picked);
  print_calls();
  return 0;
}
