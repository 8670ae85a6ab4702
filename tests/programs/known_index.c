// Functions of which a part is only understood when all of it is: what a switch goes on from is a number for long, and of another
// switch a case is known.
#include "calls.h"

static int step;
KEPT int next(void) {
  CALLED("next");
  static const int steps[] = {0, 3, 1, 2, 0, 3, -1};
  return steps[step++ % 7];
}
KEPT void enter_loop(void) {
  CALLED("enter_loop");
  CALLED("loop");
}
KEPT void enter_known(void) {
  CALLED("enter_known");
  CALLED("known");
}

// The tables are one after the other. Read as the second's, the first one's entries lead as far after its cases as the tables
// are apart: to code that needs the first table's address in r13, where the second switch has something else.
int loop(void);
__asm__(
    ".text\n.globl loop\n.type loop, @function\n"
    "loop: .cfi_startproc\n"
    "  push %rbx\n.cfi_adjust_cfa_offset 8\n"
    "  push %r12\n.cfi_adjust_cfa_offset 8\n"
    "  push %r13\n.cfi_adjust_cfa_offset 8\n"
    "  call enter_loop\n"
    "  lea 70f(%rip), %r13\n"
    "  xor %ebx, %ebx\n"
    "  mov $1, %r12d\n"
    "1: call next\n"
    "  cmp $-1, %eax\n"
    "  je 6f\n"
    "  cmp $3, %eax\n"
    "  ja 1b\n"
    "  movslq (%r13,%rax,4), %rax\n"
    "  add %r13, %rax\n"
    "  jmp *%rax\n"
    "2: add $1, %ebx\n  .rept 32\n  nop\n  .endr\n  jmp 1b\n"
    "3: add $20, %ebx\n  .rept 32\n  nop\n  .endr\n  jmp 1b\n"
    "4: add $300, %ebx\n  .rept 32\n  nop\n  .endr\n  jmp 1b\n"
    "6: mov %rsp, %r13\n"
    "  cmp $2, %r12d\n"
    "  ja 9f\n"
    "  lea 71f(%rip), %rdx\n"
    "  mov %r12d, %eax\n"
    "  movslq (%rdx,%rax,4), %rax\n"
    "  add %rdx, %rax\n"
    "  jmp *%rax\n"
    "7: add $4000, %ebx\n  jmp 9f\n"
    "8: add $50000, %ebx\n"
    "9: mov %ebx, %eax\n"
    "  pop %r13\n.cfi_adjust_cfa_offset -8\n"
    "  pop %r12\n.cfi_adjust_cfa_offset -8\n"
    "  pop %rbx\n.cfi_adjust_cfa_offset -8\n"
    "  ret\n"
    ".cfi_adjust_cfa_offset 24\n"
    "5: mov $2, %r12d\n  .rept 32\n  nop\n  .endr\n  jmp 1b\n"
    ".cfi_endproc\n.size loop, .-loop\n"
    ".section .rodata\n.balign 4\n"
    "70: .long 2b-70b, 3b-70b, 4b-70b, 5b-70b\n"
    "71: .long 7b-71b, 9b-71b, 8b-71b\n"
    ".text\n");

#if !defined(__PIE__) && !defined(__pie__)
// Two switches with tables one after the other. Of the second the case is known on one way.
long known(long a, long b);
__asm__(
    ".text\n.globl known\n.type known, @function\n"
    "known: .cfi_startproc\n"
    "  push %rbx\n.cfi_adjust_cfa_offset 8\n"
    "  push %rbp\n.cfi_adjust_cfa_offset 8\n"
    "  sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
    "  mov %rdi, %rbx\n"
    "  mov %rsi, %rbp\n"
    "  call enter_known\n"
    "  cmp $3, %ebx\n"
    "  ja 6f\n"
    "  mov %ebx, %ecx\n"
    "  jmp *70f(,%rcx,8)\n"
    "2: mov $1, %eax\n  jmp 9f\n"
    "3: mov $2, %eax\n  jmp 9f\n"
    "4: mov $3, %eax\n  jmp 9f\n"
    "5: jmp *71f(%rip)\n"
    "6: cmp $1, %ebp\n"
    "  ja 2b\n"
    "  mov %ebp, %ecx\n"
    "  jmp *71f(,%rcx,8)\n"
    "7: mov $10, %eax\n  jmp 9f\n"
    "8: mov $11, %eax\n"
    "9: add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
    "  pop %rbp\n.cfi_adjust_cfa_offset -8\n"
    "  pop %rbx\n.cfi_adjust_cfa_offset -8\n"
    "  ret\n"
    ".cfi_endproc\n.size known, .-known\n"
    ".section .rodata\n.balign 8\n"
    "70: .quad 2b, 3b, 4b, 5b\n"
    "71: .quad 7b, 8b\n"
    ".text\n");
#else
KEPT long known(long a, long b) {
  enter_known();
  return a > 3 ? b > 1 ? 1 : b + 10 : a == 3 ? 10 : a + 1;
}
#endif

int main(void) {
  CALLED("main");
  printf("%d %d\n", loop(), loop());
  for (long a = 0; a < 5; ++a) printf("%ld %ld %ld\n", known(a, 0), known(a, 1), known(a, 2));
  print_calls();
}
