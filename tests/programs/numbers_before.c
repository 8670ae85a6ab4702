/* Functions with a number in front of them that indirect calls check, as clang -fsanitize=kcfi makes them, and calls that do.
   NUMBER: what holds the number. SYMBOL: it has a symbol of its own, as if it were a function. LIBRARY: the functions only;
   PROGRAM: the calls only. */
#include <stdio.h>

static long n[3];

#if NUMBER == 0
/* As clang -Os does. */
#define NUMBER_BEFORE "nop\nnop\nnop\nmov $0x98765432, %eax\n"
#define NEGATED "$-0x98765432"
#elif NUMBER == 1
/* Where functions are not aligned. */
#define NUMBER_BEFORE "mov $0x98765432, %eax\n"
#define NEGATED "$-0x98765432"
#elif NUMBER == 2
/* Data; its first byte could be a no-operation. */
#define NUMBER_BEFORE ".byte 0x90, 0x54, 0x76, 0x98\n"
#define NEGATED "$-0x98765490"
#else
/* As clang -fsanitize=function does since version 17. */
#define NUMBER_BEFORE ".long 0xc105cafe, 0x98765432\n"
#define CHECKED                                                                                                \
  "mov %rdi, %rax\n cmpl $0xc105cafe, -8(%rdi)\n jne 1f\n cmpl $0x98765432, -4(%rax)\n jne 2f\n1: push %rbx\n" \
  ".cfi_adjust_cfa_offset 8\n mov %esi, %edi\n call *%rax\n pop %rbx\n .cfi_adjust_cfa_offset -8\n ret\n2: ud2"
#endif
#ifndef CHECKED
#define CHECKED \
  "mov %rdi, %rax\n mov %esi, %edi\n mov " NEGATED ", %r10d\n add -4(%rax), %r10d\n je 1f\n ud2\n1: jmp *%rax"
#endif

#ifdef SYMBOL
#define SYMBOL_BEFORE(NAME) ".globl __cfi_" NAME "\n.type __cfi_" NAME ", @function\n__cfi_" NAME ":\n"
#define SYMBOL_SIZE(NAME) ".size __cfi_" NAME ", . - __cfi_" NAME "\n"
#else
#define SYMBOL_BEFORE(NAME)
#define SYMBOL_SIZE(NAME)
#endif

#define FUNCTION(NAME, BODY)                                                                                           \
  __asm__(".text\n" SYMBOL_BEFORE(NAME) NUMBER_BEFORE SYMBOL_SIZE(NAME) ".globl " NAME "\n.type " NAME                 \
                                                                        ", @function\n" NAME ": .cfi_startproc\n" BODY \
                                                                        "\n.cfi_endproc\n.size " NAME ", . - " NAME    \
                                                                        "\n")

#ifndef PROGRAM
FUNCTION("nothing", "ret");
FUNCTION("neither", "ret");
FUNCTION("plus", "lea 1(%rdi), %eax\n ret");
FUNCTION("times", "lea (%rdi,%rdi), %eax\n ret");
#endif

#ifndef LIBRARY
/* checked(f, x): f(x) */
FUNCTION("checked", CHECKED);

int plus(int), times(int), nothing(int), neither(int), checked(int (*)(int), int);
int (*volatile functions[])(int) = {plus, times, nothing, neither};

__attribute__((noinline)) int named(int x) {
  ++n[0];
  return checked(plus, x) + checked(times, x);
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 20; i++) {
    int result = checked(functions[i & 3], i);
    sum += i & 2 ? 0 : result;
  }
  for (int i = 0; i < 7; i++) sum += named(i);
  printf("%d\ncalls plus 12\ncalls times 12\ncalls checked 34\ncalls named %ld\n", sum, n[0]);
  printf("calls nothing 5\ncalls neither 5\n");
  return 0;
}
#endif
