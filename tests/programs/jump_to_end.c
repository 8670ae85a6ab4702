// What is never reached needs no code: a jump there, at the end of a function, has the next function as its target,
// which is not a part of this one for that. As clang -O0 lays __builtin_unreachable(); in assembly, so that nothing
// stands between the two. Called through pointers only.
#include <stdio.h>

#define FUNCTION(NAME, BODY) \
  ".type " #NAME ", @function\n" #NAME ":\n.cfi_startproc\n" BODY ".cfi_endproc\n.size " #NAME ", . - " #NAME "\n"
#define ENTER "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register 6\n"
#define LEAVE "pop %rbp\n.cfi_def_cfa 7, 8\nret\n.cfi_def_cfa 6, 16\n"

__asm__(".text\n"  //
        FUNCTION(conditional, ENTER "test %edi, %edi\njs 1f\nlea 1(%rdi), %eax\n" LEAVE "1:\n")
            FUNCTION(behind_conditional, ENTER "lea 2(%rdi), %eax\n" LEAVE)
                FUNCTION(plain, ENTER "test %edi, %edi\njns 2f\njmp 1f\n2:\nlea 3(%rdi), %eax\n" LEAVE "1:\n")
                    FUNCTION(behind_plain, ENTER "lea 4(%rdi), %eax\n" LEAVE)
                        FUNCTION(frameless, "test %edi, %edi\njs 1f\nlea 5(%rdi), %eax\nret\n1:\n")
                            FUNCTION(behind_frameless, "lea 6(%rdi), %eax\nret\n"));

int conditional(int), behind_conditional(int), plain(int), behind_plain(int), frameless(int), behind_frameless(int);
static int (*volatile functions[])(int) = {conditional,  behind_conditional, plain,
                                           behind_plain, frameless,          behind_frameless};

int main(void) {
  int sum = 0;
  for (int i = 0; i < 600; ++i) sum += functions[i % 6](i);
  printf("%d\n", sum);
  printf(
      "calls main 1\ncalls conditional 100\ncalls behind_conditional 100\ncalls plain 100\ncalls behind_plain 100\n");
  printf("calls frameless 100\ncalls behind_frameless 100\n");
  return 0;
}
