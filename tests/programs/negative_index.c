// Jump tables that are read from their middle, from their end, or from somewhere else: entry 0 is not where they begin.
#include "calls.h"

volatile int sink = 5;

// Nothing but seven cases can occur, so that no comparison tells the bounds.
#define SEVEN_CASES(NAME, TYPE, LOW)              \
  KEPT int NAME(TYPE x) {                         \
    CALLED(#NAME);                                \
    switch (x) {                                  \
      case LOW: return sink + 11;                 \
      case LOW + 1: puts(#NAME " + 1"); return 7; \
      case LOW + 2: sink = 3; return 8;           \
      case LOW + 3: return sink * 3;              \
      case LOW + 4: puts(#NAME " + 4"); return 2; \
      case LOW + 5: sink++; return 4;             \
      case LOW + 6: return sink - 9;              \
    }                                             \
    __builtin_unreachable();                      \
  }
SEVEN_CASES(around_zero, long, -3)
SEVEN_CASES(below_zero, long, -7)
SEVEN_CASES(above_zero, long, 3)
SEVEN_CASES(above_zero_unsigned, unsigned, 3)
SEVEN_CASES(far_above_zero, long, 97)
SEVEN_CASES(narrow, signed char, -3)

// A signed comparison tells the upper bound only.
KEPT int bounded_above(int x) {
  CALLED("bounded_above");
  if (x > 3) return around_zero(3);
  switch (x) {
    case -3: return sink + 5;
    case -2: puts("minus two"); return 6;
    case -1: return sink ^ 9;
    case 0: sink += 2; return 1;
    case 1: return sink;
    case 2: return sink * 2;
    case 3: return 12;
  }
  __builtin_unreachable();
}

// The code of a character is signed.
KEPT int characters(const signed char *p) {
  CALLED("characters");
  static const void *const table[256] = {
      [0 ... 127] = &&high, [128 ... 175] = &&other, [176 ... 185] = &&digit, [186 ... 255] = &&letter};
  int sum = 0;
  goto *table[*p + 128];
high: sum = sum * 5 + 1; goto next;
digit: sum = sum * 5 + 2; goto next;
letter: sum = sum * 5 + 3; goto next;
other: if (!*p) return sum; sum = sum * 5 + 4;
next: p++; goto *table[*p + 128];
}

#define FIVE_LABELS(NAME, CONST, BASE)                                                  \
  KEPT int NAME(int by, int v) {                                                        \
    static CONST void *CONST table[] = {&&down2, &&down1, &&same, &&up1, &&up2};        \
    CALLED(#NAME);                                                                      \
    goto *(table + BASE)[by];                                                           \
  down2: return v - 2 * sink;                                                           \
  down1: sink++; return v - 1;                                                          \
  same: return v;                                                                       \
  up1: puts("up"); return v + 1;                                                        \
  up2: return v + 2;                                                                    \
  }
FIVE_LABELS(from_middle, const, 2)
FIVE_LABELS(from_middle_written, , 2)
FIVE_LABELS(from_end, const, 5)
FIVE_LABELS(from_end_written, , 5)

// Some entries are read without an index: no object begins there. Labels are so near each other that each needs a copy.
KEPT int differences(int x, int v) {
  CALLED("differences");
  static const int table[] = {&&l0 - &&l0, &&l1 - &&l0, &&l2 - &&l0, &&l3 - &&l0, &&l4 - &&l0, &&l5 - &&l0};
  goto *(&&l0 + (table + 3)[x]);
l0: return v + sink;
l1: v += 1; x = -3; goto *(&&l0 + (table + 3)[x]);
l2: v += 2; x = -3; goto *(&&l0 + (table + 3)[x]);
l3: v += 3; x = -2; goto *(&&l0 + (table + 3)[x]);
l4: v += 4; x = 0; goto *(&&l0 + (table + 3)[x]);
l5: v += 5; x = 0; goto *(&&l0 + (table + 3)[x]);
}

// By hand: the code names the middle of the table.
int by_hand(int);
unsigned long by_hand_calls;
__asm__(
    ".text\n.globl by_hand\n.type by_hand,@function\nby_hand: .cfi_startproc\n incq by_hand_calls(%rip)\n lea 3(%rdi),%eax\n"
    " cmp $6,%eax\n ja 9f\n movslq %edi,%rdi\n lea middle(%rip),%rcx\n movslq (%rcx,%rdi,4),%rax\n add %rcx,%rax\n"
    " jmp *%rax\n1: mov $1,%eax\n ret\n2: mov $2,%eax\n ret\n9: mov $9,%eax\n ret\n.cfi_endproc\n"
    ".size by_hand,.-by_hand\n.section .rodata\n.balign 4\n .long 1b-middle,2b-middle,1b-middle\n"
    "middle: .long 2b-middle,1b-middle,2b-middle,9b-middle\n.text\n");

int main(void) {
  CALLED("main");
  int sum = 0;
#define TRY(NAME, LOW) \
  for (int i = LOW; i < LOW + 7; ++i) sum = sum * 3 + NAME(i);
  TRY(around_zero, -3)
  TRY(below_zero, -7)
  TRY(above_zero, 3)
  TRY(above_zero_unsigned, 3)
  TRY(far_above_zero, 97)
  TRY(narrow, -3)
  TRY(bounded_above, -3)
  TRY(by_hand, -4)
  for (int i = 0; i < 5; ++i) {
    sum = sum * 3 + from_middle(i - 2, i) + from_middle_written(i - 2, i);
    sum = sum * 3 + from_end(i - 5, i) + from_end_written(i - 5, i) + differences(i - 3, i);
  }
  printf("%d %d\n", sum, characters((const signed char *)"ab12 \xc3\xa9 z9"));
  print_calls();
  printf("calls by_hand %lu\n", by_hand_calls);
  return 0;
}
