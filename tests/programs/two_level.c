// A product that is the index into two tables: into one of numbers, of which only the small ones lead on, and into a jump
// table of 32 entries. That the number is small does not make the index small.
#include "calls.h"

// The argument and the sum are as C passes them; one index in a register serves both loads.
__asm__(
    ".text\n"
    ".globl by_product\n"
    ".type by_product, @function\n"
    "by_product:\n"
    "  .cfi_startproc\n"
    "  lea (,%rdi,4), %rax\n"
    "  lea weights(%rip), %rdx\n"
    "  mov (%rdx,%rax), %ecx\n"
    "  cmp $4, %ecx\n"
    "  ja 1f\n"
    "  add %ecx, %esi\n"
    "  lea 2f(%rip), %rdx\n"
    "  movslq (%rdx,%rax), %rax\n"
    "  add %rdx, %rax\n"
    "  jmp *%rax\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    ".Lcase\\n: lea \\n(%rsi,%rsi), %eax\n"
    "  ret\n"
    ".endr\n"
    "1: mov %ecx, %eax\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size by_product, .-by_product\n"
    ".section .rodata\n"
    ".balign 4\n"
    "2:\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    "  .long .Lcase\\n - 2b\n"
    ".endr\n"
    ".text\n");
int by_product(unsigned long i, int x);

__attribute__((used)) const int weights[32] = {4, 90, 3, 90, 1, 4, 90, 2, 90, 4, 4, 1, 90, 0, 0, 2,
                                               4, 90, 3, 90, 2, 4, 90, 1, 90, 0, 4, 1, 90, 0, 2, 4};

KEPT int twice(int n) {
  CALLED("twice");
  return 2 * n;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 320; ++i) sum = sum * 31 + by_product(i % 32, twice(i));
  printf("%d\ncalls by_product 320\n", sum);
  print_calls();
}
