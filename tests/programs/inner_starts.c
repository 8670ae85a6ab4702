// Places inside functions that look like functions: without a frame, aligned, with padding in front. Only a jump leads
// there, or a table of addresses. Nothing but the functions whose calls are printed may be counted.
#include <stdio.h>

long between(long n), at_end(long n), copies(long n), with_cold_part(long n), with_cold_end(long n), chooses(long n),
    last(long n), hoisted(long n), pointed(long n);

#define FUNCTION(NAME) ".p2align 4\n.globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) ".size " NAME ",.-" NAME "\n.p2align 4\n"

__asm__(
    ".text\n"
    // In front of other code of the function.
    FUNCTION("between") "test %rdi,%rdi\n jne 2f\n jmp 1f\n.p2align 4\n1: movzbl %dil,%eax\n add $7,%eax\n ret\n"
    ".p2align 4\n2: lea 1(%rdi),%rax\n ret\n" END("between")
    // After all of it.
    FUNCTION("at_end") "test %rdi,%rdi\n jne 2f\n jmp 1f\n2: lea 1(%rdi),%rax\n ret\n"
    ".p2align 4\n1: movzbl %dil,%eax\n add $7,%eax\n ret\n" END("at_end")
    // It has what was put into rax before.
    FUNCTION("copies") "mov $3,%eax\n test %rdi,%rdi\n jne 2f\n jmp 1f\n2: lea 1(%rdi),%rax\n ret\n"
    ".p2align 4\n1: mov %rax,%rdx\n mov %rdx,%rax\n ret\n" END("copies")
    // Far away, and aligned by chance.
    FUNCTION("with_cold_part") "test %rdi,%rdi\n je 1f\n lea 1(%rdi),%rax\n ret\n" END("with_cold_part")
    ".section .text.unlikely,\"ax\",@progbits\n ud2\n.p2align 4\n1: movzbl %dil,%eax\n add $8,%eax\n ret\n.text\n"
    FUNCTION("with_cold_end") "test %rdi,%rdi\n jne 2f\n jmp 1f\n2: lea 1(%rdi),%rax\n ret\n" END("with_cold_end")
    ".section .text.unlikely,\"ax\",@progbits\n ud2\n1: movzbl %dil,%eax\n add $9,%eax\n ret\n.text\n"
    // By a table, and this function is not known before another one is, which data alone leads to.
    FUNCTION("chooses") "and $3,%edi\n"
#ifdef __PIC__
    " lea 4f(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n jmp *%rax\n"
#define ENTRY(LABEL) ".long " LABEL "-4b\n"
#else
    " jmp *4f(,%rdi,8)\n"
#define ENTRY(LABEL) ".quad " LABEL "\n"
#endif
    ".p2align 4\n1: lea 5(%rdi),%rax\n ret\n.p2align 4\n2: lea 6(%rdi),%rax\n ret\n.p2align 4\n3: lea 7(%rdi),%rax\n ret\n"
    END("chooses")
    ".section .rodata\n.balign 8\n4:" ENTRY("1b") ENTRY("2b") ENTRY("3b") ENTRY("1b") ".text\n"
    // The same, and nothing leads to the function.
    FUNCTION("unused") "cmp $2,%rdi\n ja 9f\n"
#ifdef __PIC__
    " lea 4f(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n jmp *%rax\n"
#else
    " jmp *4f(,%rdi,8)\n"
#endif
    "9: ret\n.p2align 4\n1: lea 5(%rdi),%rax\n ret\n.p2align 4\n2: lea 6(%rdi),%rax\n ret\n" END("unused")
    ".section .rodata\n.balign 8\n4:" ENTRY("1b") ENTRY("2b") ENTRY("1b") ".text\n"
    // The address of its table is known only if the call is known not to return; and only_there is called from there alone.
    FUNCTION("gives_up") "sub $8,%rsp\n mov $1,%edi\n call exit@PLT\n" END("gives_up")
    FUNCTION("only_there") "lea 9(%rdi),%rax\n ret\n" END("only_there")
    FUNCTION("hoisted") "push %rbx\n push %rbp\n sub $8,%rsp\n mov %rdi,%rbp\n lea 4f(%rip),%rbx\n jmp 2f\n"
    "1: lea 8f(%rip),%rbx\n call gives_up\n2: cmp $99,%rbp\n je 1b\n mov %rbp,%rdx\n and $1,%edx\n"
    " movslq (%rbx,%rdx,4),%rax\n add %rbx,%rax\n jmp *%rax\n5: lea 5(%rdi),%rax\n jmp 7f\n6: call only_there\n"
    "7: add $8,%rsp\n pop %rbp\n pop %rbx\n ret\n" END("hoisted")
    ".section .rodata\n.balign 4\n4: .long 5b-4b, 6b-4b\n8: .long 10, 20, 30\n.text\n"
    // At a fixed address, what follows unused code may be a part of that. This is called.
    FUNCTION("last") "lea 3(%rdi),%rax\n ret\n" END("last")
    // Only a number in code leads there, which is found later than its parts: to these lead numbers in data. (At a fixed
    // address it stays, as does what follows it.)
    ".section .text.pointed,\"ax\",@progbits\n"
    FUNCTION("pointed") "and $1,%edi\n"
#ifdef __PIC__
    " lea 4f(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n jmp *%rax\n"
#else
    " jmp *4f(,%rdi,8)\n.p2align 4\n1: lea 5(%rdi),%rax\n ret\n"
#endif
    ".p2align 4\n2: lea 6(%rdi),%rax\n ret\n"
    ".p2align 4\n3: lea 7(%rdi),%rax\n ret\n" END("pointed")
    ".section .rodata\n.balign 8\n4:" ENTRY("2b") ENTRY("3b")
#ifndef __PIC__
    ".quad 0,1b\n"
#endif
    ".text\n");

__attribute__((noinline)) static long through_data(long n) { return chooses(n) + chooses(n + 1); }
long (*const volatile pointer)(long) = through_data;
__attribute__((noinline)) static long through_pointer(long n) {
  long (*to)(long) = pointed;
  __asm__("" : "+r"(to));
  return 1 + to(n);
}
long (*const volatile other_pointer)(long) = through_pointer;

int main(void) {
  long sum = 0;
  for (long n = 0; n < 12; ++n)
    sum = sum * 3 + between(n % 2) + at_end(n % 3) + copies(n % 3) + with_cold_part(n % 3) + pointer(last(n)) +
          hoisted(n) + with_cold_end(n % 3) + other_pointer(n);
  printf("%ld\n", sum);
  for (int i = 0; i < 7; ++i)
    printf("calls %s 12\n",
           (const char*[]){"between", "at_end", "copies", "with_cold_part", "last", "with_cold_end", "hoisted"}[i]);
  printf("calls chooses 24\ncalls only_there 6\ncalls through_data 12\ncalls through_pointer 12\ncalls main 1\n");
#ifdef __PIC__
  printf("calls pointed 12\n");
#endif
  return 0;
}
