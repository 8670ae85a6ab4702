// Switches without a default that can happen, on a byte: compilers make tables without a comparison before, so that nothing
// tells their length, and other data follows.
#include "calls.h"

KEPT int small(const unsigned char* kind, int n) {
  CALLED("small");
  switch (*kind) {
    case 0: return n * 3;
    case 1: return n ^ 0x55;
    case 2: return n / 7;
    case 3: return ~n;
    case 4: return n * n + 1;
    default: __builtin_unreachable();
  }
}

KEPT int large(const unsigned char* kind, int n) {
  CALLED("large");
  int r = n;
  for (int i = 0; i < 3; ++i) switch (kind[i]) {
      case 0: r += small(kind, n); break;
      case 1: r -= n >> 2; break;
      case 2: r *= 5; break;
      case 3: r ^= small(kind + 1, r); break;
      case 4: r = r << 3 | 1; break;
      case 5: return r;
      default: __builtin_unreachable();
    }
  return r;
}

const volatile int zeros[64];

int main(void) {
  static const unsigned char kinds[] = {0, 1, 2, 3, 4, 3, 1, 4, 0, 2};
  int sum = zeros[5];
  for (int i = 0; i < 1000; ++i) sum = sum * 31 + large(kinds + i % 8, i);
  printf("%d\n", sum);
  print_calls();
}
