// Numbers after calls, which the callees find by their return addresses and skip, in several ways. Their bytes are
// instructions as well: je, nop, nop.
#include "calls.h"

#define CALLEE(name, code)                                                                  \
  __asm__(".text\n.balign 16\n.type " #name ", @function\n" #name ": .cfi_startproc\n" code \
          ".cfi_endproc\n.size " #name ", .-" #name "\n")
CALLEE(stored, "mov (%rsp), %rdx\n mov (%rdx), %eax\n add $4, %rdx\n mov %rdx, (%rsp)\n ret\n");
CALLEE(pushed, "pop %rdx\n mov (%rdx), %eax\n lea 4(%rdx), %rdx\n push %rdx\n ret\n");
CALLEE(jumped, "pop %rdx\n mov (%rdx), %eax\n add $4, %rdx\n jmp *%rdx\n");
CALLEE(exchanged, "xchg %rsi, (%rsp)\n lodsl\n xchg %rsi, (%rsp)\n ret\n");
CALLEE(added, "mov $0x90900774, %eax\n addq $4, (%rsp)\n ret\n");
CALLEE(with_frame,
       "push %rbp\n mov %rsp, %rbp\n push %rbx\n mov 8(%rbp), %rbx\n mov (%rbx), %eax\n addq $4, 8(%rbp)\n"
       "pop %rbx\n leave\n ret\n");
CALLEE(found_by_other, "mov (%rsp), %rdi\n call behind\n mov %rax, (%rsp)\n mov -4(%rax), %eax\n ret\n");
CALLEE(behind, "lea 4(%rdi), %rax\n ret\n");
CALLEE(led_on, "jmp stored\n");

#define USER(callee)                                                                                  \
  int use_##callee(int);                                                                              \
  __asm__(".text\n.balign 16\n.globl use_" #callee "\n.type use_" #callee ", @function\nuse_" #callee \
          ": .cfi_startproc\n"                                                                        \
          "cmp $1, %edi\n je 1f\n call " #callee                                                      \
          "\n.byte 0x74, 0x07, 0x90, 0x90\n add $1, %eax\n ret\n nop\n nop\n"                         \
          "1: mov $5, %eax\n ret\n .cfi_endproc\n.size use_" #callee ", .-use_" #callee "\n")
USER(stored);
USER(pushed);
USER(jumped);
USER(exchanged);
USER(added);
USER(with_frame);
USER(found_by_other);
USER(led_on);

KEPT static void print(const char* name, int use(int)) {
  CALLED("print");
  printf("%s %x %x\n", name, (unsigned)use(2), (unsigned)use(1));
}

int main(void) {
  CALLED("main");
  print("stored", use_stored);
  print("pushed", use_pushed);
  print("jumped", use_jumped);
  print("exchanged", use_exchanged);
  print("added", use_added);
  print("with_frame", use_with_frame);
  print("found_by_other", use_found_by_other);
  print("led_on", use_led_on);
  print_calls();
  return 0;
}
