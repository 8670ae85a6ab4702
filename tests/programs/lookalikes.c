// Data that looks like addresses of labels, and labels whose addresses only data leads to. In a program at a fixed
// address both are just numbers.
#include "calls.h"

KEPT long threaded(const unsigned char* code, long n) {
  CALLED("threaded");
  static const void* volatile labels[] = {&&add, &&twice, &&halt};  // may be written, so the copy must use the same
  const unsigned char* pc = code;
  goto* labels[*pc++];
add:
  n += *pc++;
  __asm__ volatile(".globl middle_of_threaded\nmiddle_of_threaded:");
  goto* labels[*pc++];
twice:
  n *= 2;
  goto* labels[*pc++];
halt:
  return n;
}

KEPT long helper(long n) {
  CALLED("helper");
  return n + 1;
}

KEPT long hidden(const unsigned char* code, long n) {
  CALLED("hidden");
  static const void* const labels[] = {&&add, &&twice, &&halt};
  static const void* const* volatile table = labels;
  const unsigned char* pc = code;
  goto* table[*pc++];
add:
  n = helper(n + *pc++);
  goto* table[*pc++];
twice:
  n = helper(n * 2);
  goto* table[*pc++];
halt:
  return n;
}

// As a table of hashes might look: one of them happens to be the address of an instruction.
extern char middle_of_threaded[];
struct Hash {
  const void* low;
  unsigned long high[63];
} const hashes[] = {{(void*)0x123456}, {middle_of_threaded}, {(void*)0x876543}};

int main(void) {
  static const unsigned char code[] = {0, 3, 1, 0, 10, 1, 2};
  for (volatile unsigned i = 0; i < sizeof hashes / sizeof *hashes; ++i) printf("%lx\n", (unsigned long)hashes[i].low);
  for (int i = 0; i < 100; ++i) printf("%ld %ld\n", threaded(code, i), hidden(code, i));
  print_calls();
}
