// Functions of which more is known late, or only by others:
//
//   ends_in_call   seems to go on in `behind`, as long as nobody is known to call that, and from there to `target`, with its frame
//   switches       is only jumped to, by `wrapper`, and has a jump table; `between` is what its cases alone call
//   twice          has two jump tables; before the second stands a call of `between_tables`, which only the first leads to
//   unaligned      is only jumped to, by `epilogue`, which had a frame, and makes one
//   far            has a jump table in its cold part, with no limit that is known; its entries lead to the cold part alone
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) "\n.size " NAME ",.-" NAME "\n"
#define ALIGN ".p2align 4\n"
// Jumps to the entry number rdi of the table at LABEL.
#define JUMP(LABEL) "lea " LABEL "(%rip),%rdx\n movslq (%rdx,%rdi,4),%rax\n add %rdx,%rax\n jmp *%rax\n"

void stop(long n) {
  if (n) exit((int)n);
}
__asm__(".text\n" ALIGN  //
        FUNCTION("ends_in_call") "test %rdi,%rdi\n je 1f\n mov %rdi,%rax\n ret\n"
        "1: push %rbx\n push %rbp\n sub $8,%rsp\n mov $1,%edi\n call stop" END("ends_in_call") ALIGN  //
        FUNCTION("behind") "push %rbx\n mov %rdi,%rbx\n lea 3(%rbx),%rdi\n pop %rbx\n jmp target" END("behind") ALIGN  //
        FUNCTION("caller") "sub $8,%rsp\n call behind\n add $8,%rsp\n inc %rax\n ret" END("caller") ALIGN              //
        FUNCTION("target") "push %rbx\n lea (%rdi,%rdi),%rbx\n mov %rbx,%rax\n pop %rbx\n ret" END("target"));

__asm__(".text\n" ALIGN                                                                       //
            FUNCTION("wrapper") "and $3,%edi\n jmp switches" END("wrapper") ALIGN             //
                FUNCTION("between") "lea 9(%rdi),%rax\n ret" END("between") ALIGN             //
                    FUNCTION("switches") "push %rbx\n mov %rdi,%rbx\n" JUMP("5f") ALIGN       //
        "1: call between\n pop %rbx\n ret\n" ALIGN "2: mov $7,%eax\n pop %rbx\n ret\n" ALIGN  //
        "3: mov $8,%eax\n pop %rbx\n ret\n" ALIGN "4: lea 1(%rbx),%rax\n pop %rbx\n ret" END(
            "switches") ".section .rodata\n.balign 4\n5: .long 1b-5b, 2b-5b, 3b-5b, 4b-5b\n.text\n");

__asm__(".text\n" ALIGN  //
        FUNCTION("twice") "push %rbx\n push %rbp\n push %r12\n mov %rdi,%rbx\n lea 9f(%rip),%rbp\n cmp $2,%rdi\n ja 4f\n"
        JUMP("8f") "1: mov %rbx,%rdi\n call between_tables\n mov %rax,%r12\n"
        " mov %rbx,%rdi\n and $1,%edi\n movslq (%rbp,%rdi,4),%rax\n add %rbp,%rax\n jmp *%rax\n"
        "2: mov $70,%r12d\n jmp 1b\n 3: mov $80,%r12d\n jmp 1b\n"
        "4: xor %eax,%eax\n jmp 7f\n 5: lea 1(%r12),%rax\n jmp 7f\n 6: lea 2(%r12),%rax\n"
        "7: pop %r12\n pop %rbp\n pop %rbx\n ret" END("twice") ALIGN                                               //
        FUNCTION("between_tables") "lea (%rdi,%rdi,2),%rax\n ret" END("between_tables")                            //
        ".section .rodata\n.balign 4\n8: .long 1b-8b, 2b-8b, 3b-8b\n9: .long 5b-9b, 6b-9b\n.text\n");

__asm__(".text\n" ALIGN "nop\n"                                                                             //
        FUNCTION("first") "lea 5(%rdi),%rax\n ret" END("first")                                             //
        FUNCTION("unaligned") "push %rbx\n mov %rdi,%rbx\n lea 1(%rbx),%rax\n pop %rbx\n ret" END("unaligned")  //
        FUNCTION("second") "lea 6(%rdi),%rax\n ret" END("second") ALIGN                                     //
        FUNCTION("epilogue") "push %rbx\n mov %rdi,%rbx\n test $1,%dil\n je 1f\n add $2,%rbx\n"
        "1: mov %rbx,%rdi\n pop %rbx\n jmp unaligned" END("epilogue"));

__asm__(".section .text.unlikely,\"ax\",@progbits\n"
        "1: mov 8(%rsp),%rdi\n " JUMP("9f") "2: mov $21,%eax\n jmp 7f\n 3: mov $22,%eax\n jmp 7f\n4: mov $23,%eax\n jmp 7f\n"
        ".text\n" ALIGN  //
        FUNCTION("far") "sub $24,%rsp\n mov %rdi,8(%rsp)\n test $4,%dil\n je 1b\n mov $3,%eax\n"
        "7: add $24,%rsp\n ret" END("far") ".section .rodata\n.balign 4\n9: .long 2b-9b, 3b-9b, 4b-9b, 2b-9b\n.text\n");

long ends_in_call(long n), caller(long n), wrapper(long n), twice(long n), first(long n), second(long n),
    epilogue(long n), far(long n);

int main(void) {
  long sum = 0;
  for (long n = 1; n <= 30; ++n)
    sum = sum * 3 + ends_in_call(n) + caller(n) + wrapper(n) + twice(n % 4) + first(n) + second(n) + epilogue(n) +
          far(n % 8);
  const char* const often[] = {"ends_in_call", "behind", "caller", "target",   "wrapper",   "switches",
                               "twice",        "first",  "second", "epilogue", "unaligned", "far"};
  printf("%ld\ncalls main 1\ncalls between 7\ncalls between_tables 23\n", sum);
  for (unsigned i = 0; i < sizeof often / sizeof *often; ++i) printf("calls %s 30\n", often[i]);
  return 0;
}
