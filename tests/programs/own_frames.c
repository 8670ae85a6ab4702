// A run-time system as V8 is one: code of its own, which has the address of its data in r13 and calls C through that; and C that
// finds out by return address to whom frames belong. It is lost where that code was moved. Unwind tables tell of the way in alone.
#include <stdio.h>
#include <stdlib.h>

extern const char code_start[], code_end[];
long run(void* const* data, long n);
__asm__(
    ".text\n"
    ".p2align 4\n"
    "code_start:\n"
    "run:\n"  // the C library's convention on the one side, the system's own on the other
    ".cfi_startproc\n"
    "push %rbx\n"
    ".cfi_adjust_cfa_offset 8\n"
    "push %r13\n"
    ".cfi_adjust_cfa_offset 8\n"
    "push %rbp\n"
    ".cfi_adjust_cfa_offset 8\n"
    "mov %rdi, %r13\n"
    "mov %rsi, %rbx\n"
    "call begin\n"
    "pop %rbp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "pop %r13\n"
    ".cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".p2align 4, 0xcc\n"
    "begin:\n"
    "push %rbp\n"
    "mov %rsp, %rbp\n"
    "mov %rsp, 16(%r13)\n"
    "call twice\n"
    "pop %rbp\n"
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

struct Frame {
  const struct Frame* caller;
  const char* return_address;
};
static const struct Frame* data[3] = {(void*)7};

static long collect(long n) {
  const struct Frame* frame = __builtin_frame_address(0);
  for (;; frame = frame->caller) {
    if (frame->return_address < code_start || frame->return_address >= code_end) {
      puts("a frame of nobody");
      exit(1);
    }
    if (frame == data[2]) return n * 3;
  }
}

static long sum(long n) { return n < 2 ? n : n + sum(n / 2); }

int main(void) {
  data[1] = (void*)collect;
  printf("%ld\n", run((void* const*)data, sum(100)));
  return 0;
}
