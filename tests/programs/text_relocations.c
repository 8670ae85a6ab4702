/* Built without -fPIC and linked as a PIE or a library: addresses in its code are filled in when it is loaded.
   LIBRARY: run() only, whose symbols the program may replace. */
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

KEPT int value = 42;
int table[70000];

KEPT int twice(int x) {
  CALLED("twice");
  return x * 2;
}
KEPT int get(void) {
  CALLED("get");
  return value;
}
KEPT int tail(int x) {
  CALLED("tail");
  return twice(x + value);
}
KEPT int choose(int x) {
  CALLED("choose");
  switch (x) {
    case 0:
      return value;
    case 1:
      return twice(3);
    case 2:
      return table[5] + 7;
    case 3:
      return 11;
    case 4:
      return x * value;
    case 5:
      return get();
    case 6:
      value ^= 1;
      return 3;
    default:
      return -1;
  }
}
/* It has no relocation. */
KEPT int thrice(int x) { return x * 3; }
typedef int (*Function)(int);
KEPT Function pick(int i) {
  CALLED("pick");
  return i ? twice : tail;
}
KEPT int compare(const void* a, const void* b) {
  CALLED("compare");
  return *(const int*)a - *(const int*)b;
}
KEPT int labels(const int* p) {
  static const void* const targets[] = {&&one, &&many, &&end};
  int sum = 0;
  CALLED("labels");
  for (;;) {
    goto* targets[*p++];
  one:
    sum += 1;
    continue;
  many:
    sum += value;
    continue;
  end:
    return sum;
  }
}
KEPT int indirect(Function f, int x) {
  CALLED("indirect");
  return f(x);
}
/* The relocation is in the first instruction, which the jump to the copy overwrites. */
KEPT const char* name(void);
__asm__(
    ".text\n.globl name\n.type name, @function\nname: .cfi_startproc\n"
    " movabs $.Lname, %rax\n ret\n .cfi_endproc\n.size name, . - name\n"
    ".section .rodata.name, \"a\"\n.Lname: .string \"name\"\n.text\n");

#ifdef LIBRARY
#define main run
#endif
int main(void) {
  int v[8] = {5, 3, 8, 1, 9, 2, 7, 4};
  const int p[] = {0, 1, 0, 1, 2};
  long s = 0;
  table[5] = 9;
  for (int i = 0; i < 20; i++)
    s = thrice(s & 0xfffff) + get() + tail(i) + choose(i % 9) + pick(i & 1)(i) + indirect(pick(1), i) + name()[i & 3];
  qsort(v, 8, sizeof *v, compare);
  for (int i = 0; i < 8; i++) s = s * 3 + v[i];
  printf("%ld\n", s + labels(p));
  printf("calls name 20\n");
  print_calls();
  return 0;
}
