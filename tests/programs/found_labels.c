// Labels whose addresses are taken, in functions without a frame: what they lead to looks like functions. None may have hooks of
// its own, and the functions among them must do the same as before; each is counted, or stays and is reported.
//
//   by_register   a computed goto through an array below the stack pointer, which each label reads again
//   by_pointer    the same through one of two pointers to the stack
//   through_data  through an array that is data, which functions follow; another array of functions follows the first
//   chooses       no label: it calls one of two functions in front of it, by a pointer that it has put on the stack
//   leaves        a label that only a jump out of another function leads to (as from a nested one), and that ends the program
//   uses_rax      takes the address of what is no function of C, right in front of it
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ": "
#define END(NAME) "\n.size " NAME ",.-" NAME "\n"
#define ALIGN ".p2align 4\n"
#define NEXT " movsbq (%rdi),%rdx\n inc %rdi\n mov -24(%rsp,%rdx,8),%rdx\n jmp *%rdx\n" ALIGN

#define OWN __attribute__((noinline)) static

__asm__(".text\n" ALIGN FUNCTION("by_register")  //
        "lea 1f(%rip),%rax\n mov %rax,-24(%rsp)\n lea 2f(%rip),%rax\n mov %rax,-16(%rsp)\n lea 3f(%rip),%rax\n"
        " mov %rax,-8(%rsp)\n mov %rsi,%rcx\n" NEXT  //
        "1: add $3,%rcx\n" NEXT                      //
        "2: lea (%rcx,%rcx,4),%rcx\n" NEXT           //
        "3: mov %rcx,%rax\n ret" END("by_register"));

OWN long through_data(const unsigned char* p, long n) {
  static void* const labels[] = {&&a, &&b, &&c, &&d};
  goto* labels[*p++];
a:
  n += 3;
  goto* labels[*p++];
b:
  n *= 5;
  goto* labels[*p++];
c:
  n ^= 77;
  goto* labels[*p++];
d:
  return n;
}
OWN long first(long n) { return n + 11; }
OWN long second(long n) { return n * 7; }
static long (*const volatile functions[])(long) = {first, second};

OWN long chooses(long n) {
  long (*volatile among[2])(long) = {first, second};
  return among[n & 1](n);
}
OWN long by_pointer(long n) {
  struct {
    void* volatile x, * volatile y;
  } s = {&&a, &&b};
  goto**(n & 1 ? &s.x : &s.y);
a:
  return n + 3;
b:
  return n * 5;
}

__asm__(".text\n" ALIGN  //
            FUNCTION("before") "lea 7(%rdi),%rax\n ret" END("before")
        // What it is called with is in rax.
        FUNCTION("in_rax") "lea 1(%rax),%rax\n ret" END("in_rax")
            FUNCTION("uses_rax") "push %rbx\n lea in_rax(%rip),%rbx\n mov %rdi,%rax\n call *%rbx\n pop %rbx\n ret" END(
                "uses_rax"));

__asm__(".text\n" ALIGN  //
        FUNCTION("leaves") "push %rbx\n mov %rsp,stack(%rip)\n"
#ifdef __PIC__
        "lea 1f(%rip),%rax\n mov %rax,label(%rip)\n"
#else
        "movq $1f,label(%rip)\n"
#endif
        "call goes_out\n call abort@PLT\n" ALIGN "1: xor %edi,%edi\n call exit@PLT" END("leaves") ALIGN  //
        FUNCTION("goes_out") "mov stack(%rip),%rsp\n jmp *label(%rip)" END("goes_out")
        ".local stack\n.comm stack,8,8\n.local label\n.comm label,8,8\n");

long by_register(const char*p, long n), before(long n), uses_rax(long n), leaves(void);

int main(void) {
  long sum = 0;
  for (long n = 0; n < 20; ++n)
    sum = sum * 3 + by_register("\0\1\1\0\2", n) + through_data((const unsigned char*)"\0\1\2\0\3", n) +
          functions[n & 1](n) + chooses(n) + by_pointer(n) + before(n) + uses_rax(n);
  printf("%ld\ncalls main 1\ncalls before 20\ncalls uses_rax 20\n", sum);
  fflush(stdout);
  leaves();
}
