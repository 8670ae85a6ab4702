// Switches on a multiple of something: the index of the jump table is a product, and so is what was compared with a bound.
#include "calls.h"

KEPT long by_bytes(long* to, const long* from, unsigned long words) {
  CALLED("by_bytes");
  const unsigned long bytes = words * 8;
  long sum = bytes;
  switch (bytes) {
    case 8: to[0] = from[1]; break;
    case 16: to[0] = from[0] + 1; to[1] = from[3]; break;
    case 24: to[2] = from[0] * 5; sum += to[1]; break;
    case 32: to[3] = from[2] ^ to[2]; break;
    case 40: to[4] = sum / 3; sum -= from[1]; break;
    case 48: to[5] = to[4] - 7; break;
    case 56: sum *= from[5]; break;
    default: for (unsigned long i = 0; i < words; ++i) to[i % 8] += from[i % 8];
  }
  return sum;
}

KEPT long by_words(const int* words, int* out) {
  CALLED("by_words");
  const unsigned n = *words * 4u;
  switch (n) {
    case 0: return out[0] = 5;
    case 4: return out[1] * 3;
    case 8: return out[2] = out[1] + 9;
    case 12: return out[0] ^ out[2];
    case 16: return out[3]++;
    case 20: return out[3] * out[2];
    case 24: return -out[1];
  }
  return n;
}

int main(void) {
  long to[8] = {0}, from[8] = {3, 1, 4, 1, 5, 9, 2, 6}, sum = 0;
  int out[4] = {1, 2, 3, 4};
  for (int i = 0; i < 60; ++i) {
    int n = i % 12;
    sum = sum * 3 + by_bytes(to, from, n) + by_words(&n, out);
  }
  printf("%ld %ld\n", sum, to[3]);
  print_calls();
}
