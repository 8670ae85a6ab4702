// Built with clang -fsanitize=function: what a call through a pointer checks belongs to the function, and is read there.
#include <cstdio>

static long calls[6];
static long errors;

extern "C" void __ubsan_handle_function_type_mismatch_v1(void*, void*, void*, void*) { ++errors; }

#define NOINLINE __attribute__((noinline))

NOINLINE int plus(int x) {
  ++calls[0];
  return x + 1;
}
NOINLINE int times(int x) {
  ++calls[1];
  return x * 2;
}
NOINLINE void nothing() {}
NOINLINE int choose(int x) {
  ++calls[2];
  switch (x) {
    case 0:
      return plus(3);
    case 1:
      return times(4);
    case 2:
      return 17;
    case 3:
      return plus(5) + 2;
    case 4:
      return times(1);
    case 5:
      return 99;
    default:
      return x;
  }
}

typedef int (*Right)(int);
typedef long (*Wrong)(long, long);
typedef void (*Empty)();

// A callback.
NOINLINE int apply(Right f, int x) {
  ++calls[3];
  return f(x) + 1;
}

int main() {
  Right functions[] = {plus, times, choose};
  __asm__ volatile("" : : "r"(functions) : "memory");
  Empty empty = nothing;
  __asm__ volatile("" : "+r"(empty));
  long sum = 0;
  for (int i = 0; i < 90; i++) {
    sum = sum * 3 % 1000003 + functions[i % 3](i % 8);
    sum += apply(i % 2 ? plus : times, i);
    empty();
  }
  Wrong wrong = reinterpret_cast<Wrong>(times);
  __asm__ volatile("" : "+r"(wrong));
  sum += wrong(1, 2) & 1;
  wrong = reinterpret_cast<Wrong>(functions[2]);
  sum += wrong(1, 2) & 1;
  std::printf("%ld, %ld errors\n", sum, errors);
  std::printf("calls plus(int) %ld\ncalls times(int) %ld\ncalls choose(int) %ld\n", calls[0], calls[1], calls[2]);
  std::printf("calls apply(int (*)(int), int) %ld\ncalls nothing() 90\n", calls[3]);
}
