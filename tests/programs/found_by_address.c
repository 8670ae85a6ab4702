// Functions that only an address leads to, which code takes or data holds. And labels, whose addresses are taken as well.
//
//   moved, stored  their addresses are numbers of 8 bytes, and of 4 that are stored at once (at a fixed address)
//   listed_*       are not aligned; a table that nobody writes to names them
//   leans          is not aligned either, and calls a function of its own file without aligning the stack
//   comes_back     stores the address of a label, as __builtin_setjmp does; so it returns, and what is after its call runs
//   gotos          goes to labels by addresses that it has put below the stack pointer
//   endless        is called by the instruction in front of it
//   lower_half     reads a part of what it has put below the stack pointer, and is only jumped to
//   passes_on      ends in a jump by a register, and is followed by what is not aligned and takes addresses of code
//   runs_off       has a way that ends with the section
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) "\n.size " NAME ",.-" NAME "\n"
#define ALIGN ".p2align 4\n"

__asm__(".text\n" ALIGN                                                          //
            FUNCTION("moved") "lea 1(%rdi),%rax\n ret" END("moved") ALIGN        //
                FUNCTION("stored") "lea 2(%rdi),%rax\n ret" END("stored") ALIGN  //
                    FUNCTION("takes")
#ifdef __PIC__
                        "lea moved(%rip),%rax\n lea stored(%rip),%rdx\n mov %rdx,word(%rip)\n"
#else
                        "movabs $moved,%rax\n movq $stored,word(%rip)\n"
#endif
                        "push %rbx\n mov %rdi,%rbx\n call *%rax\n mov %rbx,%rdi\n mov %rax,%rbx\n call *word(%rip)\n "
                        "add %rbx,%rax\n"
                        " pop %rbx\n ret" END("takes") ".local word\n.comm word,8,8\n");

__asm__(".section .text.packed,\"ax\",@progbits\n" ALIGN                                 //
            FUNCTION("front") "lea 3(%rdi),%rax\n ret" END("front")                      //
        FUNCTION("listed_a") "mov %rdi,%rax\n add $4,%rax\n ret" END("listed_a")         //
        FUNCTION("listed_b") "lea (%rdi,%rdi,4),%rax\n ret" END("listed_b")              //
        FUNCTION("leans") "sub $16,%rsp\n call plain\n add $16,%rsp\n ret" END("leans")  //
        ".text\n" ALIGN FUNCTION("plain") "lea 8(%rdi),%rax\n ret" END("plain"));
long front(long n), listed_a(long n), listed_b(long n), leans(long n);
static long (*const volatile table[])(long) = {listed_a, listed_b, leans};

// comes_back's label comes after a call that does not return: go_back goes there, with the stack of then.
__asm__(".text\n" ALIGN                                                                                       //
        FUNCTION("comes_back") "push %rbx\n mov %rdi,%rbx\n lea 1f(%rip),%rax\n mov %rax,place(%rip)\n"       //
        " mov %rsp,place+8(%rip)\n call go_back\n call abort@PLT\n"                                           //
        "1: lea 7(%rbx),%rax\n pop %rbx\n ret" END("comes_back") ALIGN                                        //
        FUNCTION("go_back") "mov place+8(%rip),%rsp\n jmp *place(%rip)" END("go_back") ALIGN                  //
        FUNCTION("afterwards") "lea 9(%rdi),%rax\n ret" END("afterwards") ALIGN                               //
        FUNCTION("both") "sub $8,%rsp\n call comes_back\n mov %rax,%rdi\n call afterwards\n add $8,%rsp\n ret" END("both")
        ".local place\n.comm place,16,8\n");

__asm__(".text\n" ALIGN  //
        FUNCTION("gotos") "lea 1f(%rip),%rax\n mov %rax,-24(%rsp)\n lea 2f(%rip),%rax\n mov %rax,-16(%rsp)\n"
        " and $1,%edi\n jmp *-24(%rsp,%rdi,8)\n1: mov $2,%eax\n ret\n" ALIGN "2: mov $3,%eax\n ret" END("gotos"));

__asm__(".text\n" ALIGN                                                                                         //
        FUNCTION("may_end") "push %rax\n test %rdi,%rdi\n js 1f\n mov %rdi,%rax\n pop %rcx\n ret\n"             //
        "1: lea 1(%rdi),%rdi\n call endless" END("may_end")                                                     //
        FUNCTION("endless") "push %rax\n test %rdi,%rdi\n jne 1f\n call exit@PLT\n1: call abort@PLT" END("endless"));

__asm__(".text\n" ALIGN                                                                                             //
            FUNCTION("framed") "push %rbx\n mov %rdi,%rbx\n lea 2(%rbx),%rax\n pop %rbx\n ret" END("framed") ALIGN  //
                FUNCTION("lower_half") "mov %rdi,-8(%rsp)\n mov -4(%rsp),%eax\n ret" END("lower_half") ALIGN        //
                    FUNCTION("shifts") "shl $32,%rdi\n jmp lower_half" END("shifts"));

__asm__(".section .text.passes,\"ax\",@progbits\n" ALIGN                                                               //
        FUNCTION("passes_on") "mov %rsi,%rax\n jmp *%rax" END("passes_on")                                             //
        FUNCTION("inner") "lea 5(%rdi),%rax\n ret" END("inner")                                                        //
        FUNCTION("outer") "push %rbx\n mov %rdi,%rbx\n"                                                                //
#ifdef __PIC__
        "lea inner(%rip),%rsi\n"
#else
        "mov $inner,%esi\n"
#endif
        "call passes_on\n add %rbx,%rax\n pop %rbx\n ret" END("outer") ".text\n");

// The section's last byte is the third of four.
__asm__(".section .text.zzz,\"ax\",@progbits\n" ALIGN  //
            FUNCTION(
                "runs_off") "nopl (%rax)\n test %rdi,%rdi\n js 1f\n lea 1(%rdi),%rax\n ret\n1: mov "
                            "other(%rip),%eax" END("runs_off") ".text\n.local other\n.comm other,4,4\n");

long takes(long n), both(long n), gotos(long n), framed(long n), shifts(long n), passes_on(long n, long (*to)(long)),
    outer(long n), runs_off(long n), may_end(long n);

int main(void) {
  long sum = 0;
  for (long n = 1; n <= 30; ++n)
    sum = sum * 3 + takes(n) + front(n) + table[n % 3](n) + both(n) + gotos(n) + framed(n) + shifts(n) + outer(n) +
          runs_off(n) + may_end(n);
  const char* const often[] = {"takes",  "moved",      "stored", "front", "both",      "afterwards", "framed",
                               "shifts", "lower_half", "outer",  "inner", "passes_on", "runs_off"};
  printf(
      "%ld\ncalls main 1\ncalls listed_a 10\ncalls listed_b 10\ncalls leans 10\ncalls plain 10\ncalls endless 1\ncalls "
      "may_end 31\n",
      sum);
  for (unsigned i = 0; i < sizeof often / sizeof *often; ++i) printf("calls %s 30\n", often[i]);
  may_end(-1);
}
