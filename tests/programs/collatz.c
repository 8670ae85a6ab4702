// The lengths of Collatz sequences. Built with -fno-inline: step 62135400, nseq 499999, main 1 calls.
#include <stdio.h>

static unsigned step(unsigned n) { return n % 2 ? 3 * n + 1 : n / 2; }

static unsigned nseq(unsigned n) {
  unsigned length = 1;
  while (n != 1) {
    n = step(n);
    ++length;
  }
  return length;
}

int main(void) {
  unsigned longest = 0, start = 0;
  for (unsigned i = 1; i < 500000; ++i) {
    unsigned length = nseq(i);
    if (length > longest) {
      longest = length;
      start = i;
    }
  }
  printf("%u steps from %u\n", longest, start);
  return 0;
}
