// Functions that are not aligned, and are only jumped to: each by the function behind it. What is called stands there, too.
#include <stdio.h>

long in_front(long n), jumps(long n), within(long n);

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) ".size " NAME ",.-" NAME "\n"

__asm__(".text\n.p2align 4\n nop\n"                                                                       //
        FUNCTION("within") "lea 5(%rdi),%rax\n ret\n" END("within")                                       //
        FUNCTION("in_front") "test %rdi,%rdi\n je 1f\n lea 1(%rdi),%rax\n ret\n1: ret\n" END("in_front")  //
        FUNCTION("jumps") "mov %rdi,%rax\n test $1,%dil\n je 1f\n add $2,%rdi\n1: jmp in_front\n" END("jumps"));

int main(void) {
  long sum = 0;
  for (long n = 0; n < 30; ++n) sum = sum * 3 + jumps(n) + within(n);
  printf("%ld\ncalls jumps 30\ncalls within 30\ncalls main 1\n", sum);
  return 0;
}
