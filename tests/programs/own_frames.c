// A run-time system as V8 is one: code of its own, which has the address of its data in r13 and calls C through that; and C that
// finds out by return address whom it was called by. It is lost where that code was moved.
#include <stdio.h>
#include <stdlib.h>

extern const char code_start[], code_end[];
long run(void *const *data, long n);
__asm__(
    ".text\n"
    ".p2align 4\n"
    "code_start:\n"
    "run:\n"  // the C library's convention on the one side, the system's own on the other
    "push %rbx\n"
    "push %r13\n"
    "push %rbp\n"
    "mov %rdi, %r13\n"
    "mov %rsi, %rbx\n"
    "call twice\n"
    "pop %rbp\n"
    "pop %r13\n"
    "pop %rbx\n"
    "ret\n"
    ".p2align 4, 0xcc\n"
    "twice:\n"  // does not use r13 by itself
    "push %rbp\n"
    "mov %rsp, %rbp\n"
    "call once\n"
    "mov %rax, %rbx\n"
    "call once\n"
    "pop %rbp\n"
    "ret\n"
    ".p2align 4, 0xcc\n"
    "once:\n"
    "push %rbp\n"
    "mov %rsp, %rbp\n"
    "mov %rbx, %rdi\n"
    "call *8(%r13)\n"
    "add (%r13), %rax\n"
    "pop %rbp\n"
    "ret\n"
    "code_end:\n"
    ".section .note.GNU-stack, \"\", @progbits\n"
    ".text\n");

static long collect(long n) {
  const char *const caller = __builtin_return_address(0);
  if (caller < code_start || caller >= code_end) {
    puts("a frame of nobody");
    exit(1);
  }
  return n * 3;
}

__attribute__((noinline)) static long sum(long n) { return n < 2 ? n : n + sum(n / 2); }

int main(void) {
  void* const data[] = {(void*)7, (void*)collect};
  printf("%ld\n", run(data, sum(100)));
  return 0;
}
