// Functions that are only jumped to, each by one function: by the one after it, by one of those after others, by the one in
// front of it. They may be parts of that, so they stay. What is called stands among them. (And `named`: the function after it
// takes its address, which at a fixed address is a number, and what is in front of it is not known.)
#include <stdio.h>

long in_front(long n), jumps(long n), within(long n), jumps_first(long n), jumps_second(long n), jumps_on(long n),
    jumps_to_short(long n), names(long n);

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) ".size " NAME ",.-" NAME "\n"

__asm__(".text\n.p2align 4\n nop\n"                                                                       //
        FUNCTION("within") "lea 5(%rdi),%rax\n ret\n" END("within")                                       //
        FUNCTION("in_front") "test %rdi,%rdi\n je 1f\n lea 1(%rdi),%rax\n ret\n1: ret\n" END("in_front")  //
        FUNCTION("jumps") "mov %rdi,%rax\n test $1,%dil\n je 1f\n add $2,%rdi\n1: jmp in_front\n" END("jumps"));

__asm__(".text\n.p2align 4\n nop\n"                                                                  //
        FUNCTION("first") "mov %edi,%eax\n ret\n" END("first")                                       //
        FUNCTION("second") "lea 1(%rdi),%eax\n ret\n" END("second")                                  //
        FUNCTION("jumps_first") "add $6,%edi\n jmp first\n" END("jumps_first")                       //
        FUNCTION("jumps_second") "add $7,%edi\n jmp second\n" END("jumps_second")                    //
        FUNCTION("jumps_on") "add $8,%edi\n.byte 0xeb,0\n" END("jumps_on")                           //
        FUNCTION("next") "lea 2(%rdi),%eax\n ret\n" END("next") ".p2align 4\n"                       //
        FUNCTION("jumps_to_short") "add $9,%edi\n jmp short\n" END("jumps_to_short") ".p2align 4\n"  //
        FUNCTION("short") "xor %eax,%eax\n ret\n" END("short"));

__asm__(".text\n.p2align 4\n nop\n"                                                         //
        FUNCTION("unused") "lea 1(%rdi),%rax\n ret\n" END("unused")                         //
        FUNCTION("named") "lea 3(%rdi),%rax\n ret\n" END("named")                           //
        FUNCTION("names") "sub $8,%rsp\n"
#ifdef __PIC__
        "lea named(%rip),%rax\n"
#else
        "mov $named,%eax\n"
#endif
        "call *%rax\n add $8,%rsp\n ret\n" END("names"));

int main(void) {
  long sum = 0;
  for (long n = 0; n < 30; ++n)
    sum =
        sum * 3 + jumps(n) + within(n) + jumps_first(n) + jumps_second(n) + jumps_on(n) + jumps_to_short(n) + names(n);
  printf("%ld\ncalls jumps 30\ncalls within 30\ncalls jumps_first 30\ncalls jumps_second 30\ncalls jumps_on 30\n", sum);
  printf("calls jumps_to_short 30\ncalls names 30\ncalls main 1\n");
#ifdef __PIC__
  printf("calls named 30\n");
#endif
  return 0;
}
