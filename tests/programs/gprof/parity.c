#include "parts.h"

static int left(int n) {
  return even(n - 1);
}

int even(int n) {
  if (n <= 0)
    return 1;
  return shared((unsigned)n) ? odd(n - 1) : 0;
}

int odd(int n) {
  if (n <= 0)
    return 0;
  return left(n);
}
