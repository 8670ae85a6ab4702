// Functions with zeros between them, as Free Pascal lays them out. Only pointers in data lead there.
#include <stdio.h>

long first(long n), second(long n), third(long n);

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) ".size " NAME ",.-" NAME "\n.balign 16,0\n"

__asm__(".text\n.p2align 4\n"                                                                     //
        FUNCTION("called") "lea 1(%rdi),%rax\n ret\n" END("called")                               //
        FUNCTION("first") "push %rbp\n mov %rsp,%rbp\n call called\n leave\n ret\n" END("first")  //
        FUNCTION("second") "lea 2(%rdi),%rax\n ret\n" END("second")                               //
        FUNCTION("third") "lea 3(%rdi),%rax\n ret\n" END("third"));

long (*const volatile pointers[])(long) = {first, second, third};

int main(void) {
  long sum = 0;
  for (long n = 0; n < 30; ++n) sum = sum * 3 + pointers[n % 3](n);
  printf("%ld\ncalls called 10\ncalls first 10\ncalls second 10\ncalls third 10\ncalls main 1\n", sum);
  return 0;
}
