// Mutual recursion: Hofstadter's female and male sequences. mutual ROUNDS
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noipa))

KEPT unsigned male(unsigned n);
KEPT unsigned female(unsigned n) { return n == 0 ? 1 : n - male(female(n - 1)); }
KEPT unsigned male(unsigned n) { return n == 0 ? 0 : n - female(male(n - 1)); }

int main(int argc, char** argv) {
  unsigned sum = 0;
  for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; --i) sum += female(14 + (unsigned)i % 3);
  printf("%u\n", sum);
  return 0;
}
