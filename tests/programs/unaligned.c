// Functions that are not aligned, one after the other, as compilers put those that seldom run. Only a word of data leads to
// each of them. And parts of a function among them, which only its table leads to; to one of these leads a number in data.
#include <stdlib.h>

#include "calls.h"

#define PACKED KEPT __attribute__((aligned(1), section(".text.packed")))

PACKED static long first(long n) {
  CALLED("first");
  return n + 1;
}
PACKED static long second(long n) {
  CALLED("second");
  return n * 3;
}
PACKED static long third(long n) {
  CALLED("third");
  return n ^ 21;
}

__asm__(
    ".section .text.packed,\"ax\",@progbits\n"
    "8: sub $8,%rsp\n call abort@PLT\n"  // with the stack of a frame
    "9: mov $77,%eax\n add $16,%rsp\n ret\n"
    ".text\n.p2align 4\n.globl switches\n.type switches,@function\n"
    "switches: sub $16,%rsp\n cmp $2,%rdi\n ja 1f\n"
#ifdef __PIC__
    " lea 4f(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n jmp *%rax\n"
#else
    " jmp *4f(,%rdi,8)\n"
#endif
    "1: mov $5,%eax\n add $16,%rsp\n ret\n2: mov $6,%eax\n add $16,%rsp\n ret\n.size switches,.-switches\n"
    ".section .rodata\n.balign 8\n4:"
#ifdef __PIC__
    ".long 9b-4b, 8b-4b, 2b-4b\n"
#else
    ".quad 9b, 8b, 2b\n"
#endif
    ".data\n.balign 8\n.quad 9b\n.text\n");
long switches(long n);

struct entry {
  const char* name;
  long (*run)(long);
};
struct entry entries[] = {{"first", first}, {"second", second}, {"third", third}};

int main(int argc, char** argv) {
  (void)argv;
  CALLED("main");
  long sum = 0;
  for (long i = 0; i < 50; ++i) {
    CALLED("switches");
    sum += entries[(i + argc) % 3].run(i) + switches(i % 2 * 2);
  }
  printf("%ld\n", sum);
  print_calls();
  return 0;
}
