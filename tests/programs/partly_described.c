// All functions but one have unwind tables. Only an address leads to that one: a number in code right after a function that
// has one (UNALIGNED), or else a word of data.
#include <stdio.h>

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) "\n.size " NAME ",.-" NAME "\n"

__asm__(".text\n.p2align 4\n"  //
        FUNCTION("described") ".cfi_startproc\n lea 1(%rdi),%rax\n ret\n .cfi_endproc" END("described")
#ifndef UNALIGNED
            ".p2align 4\n"
#endif
        FUNCTION("bare") "lea 2(%rdi),%rax\n ret" END("bare")
        // Something else after it.
        ".p2align 4\n" FUNCTION("last") ".cfi_startproc\n lea 3(%rdi),%rax\n ret\n .cfi_endproc" END("last"));
long described(long n), bare(long n), last(long n);

#ifdef UNALIGNED
static long (*volatile pointer)(long);
#else
static long (*volatile pointer)(long) = bare;
#endif

int main(void) {
  long sum = 0;
#ifdef UNALIGNED
  pointer = bare;
#endif
  for (long n = 0; n < 30; ++n) sum = sum * 3 + described(n) + pointer(n) + last(n);
  printf("%ld\ncalls described 30\ncalls bare 30\ncalls last 30\ncalls main 1\n", sum);
  return 0;
}
