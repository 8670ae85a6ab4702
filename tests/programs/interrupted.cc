// Functions in which a signal may come before each instruction between two breakpoints; its handler throws. What cleans up
// then must find the function's own variables, and an aligned stack. Each has another way to find its frame. They are called
// again and again, until there was no signal two times; prints how many came to each of them.
//
// They are assembly because compilers leave most instructions out of the tables of handlers.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

struct Interrupted {};
static long cleaned, damaged;

static void handle(int) { throw Interrupted(); }

extern "C" {
__attribute__((used)) void clean_up(const long* variables) {
  ++cleaned;
  // Before the call the stack was aligned.
  if (variables[0] != 6 || variables[1] != 7 || reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % 16 != 0)
    ++damaged;
}
void by_stack_pointer(const long* words);
void by_frame_pointer(const long* words);
void by_expression(const long* words);
}

// `body name leave`: with 32 bytes at the stack pointer, and words in rdi.
asm(R"(
    .text
    .macro body name leave
    movq $6, (%rsp)
    movq $7, 8(%rsp)
    movq $0, 16(%rsp)
    xor %ecx, %ecx
.Lbegin_\name:
    int3
1:  mov (%rdi,%rcx,8), %rax
    test $1, %al
    jz 3f
    add %rax, 16(%rsp)
    cmp 8(%rdi), %rax
    ja 2f
    je 3f
    add %rax, %rdx
2:  dec %rdx
3:  inc %rcx
    cmp $4, %rcx
    jb 1b
    int3
.Lend_\name:
    mov %rsp, %rdi
    call clean_up
    \leave
    ret
    .cfi_restore_state
.Lpad_\name:
    mov %rax, %rbx
    mov %rsp, %rdi
    call clean_up
    mov %rbx, %rdi
    call _Unwind_Resume@PLT
.Lafter_\name:
    .cfi_endproc
    .size \name, .-\name
    .section .gcc_except_table,"a",@progbits
.Ltable_\name:
    .byte 0xff, 0xff, 1
    .uleb128 .Lsites_end_\name - .Lsites_\name
.Lsites_\name:
    .uleb128 .Lbegin_\name - \name
    .uleb128 .Lend_\name - .Lbegin_\name
    .uleb128 .Lpad_\name - \name, 0
    .uleb128 .Lend_\name - \name
    .uleb128 .Lafter_\name - .Lend_\name
    .uleb128 0, 0
.Lsites_end_\name:
    .text
    .endm

    .macro begin name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .cfi_personality 0x9b, DW.ref.__gxx_personality_v0
    .cfi_lsda 0x1b, .Ltable_\name
    .endm

    begin by_stack_pointer
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    sub $32, %rsp
    .cfi_def_cfa_offset 48
    .cfi_remember_state
    .macro leave_by_stack_pointer
    add $32, %rsp
    .cfi_def_cfa_offset 16
    pop %rbx
    .cfi_def_cfa_offset 8
    .endm
    body by_stack_pointer leave_by_stack_pointer

    begin by_frame_pointer
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rbx
    .cfi_offset %rbx, -24
    sub $40, %rsp
    .cfi_remember_state
    .macro leave_by_frame_pointer
    mov -8(%rbp), %rbx
    leave
    .cfi_def_cfa %rsp, 8
    .endm
    body by_frame_pointer leave_by_frame_pointer

    # The stack pointer as it was lies above the variables; so does rbx, which an expression tells, too.
    begin by_expression
    mov %rsp, %rax
    .cfi_def_cfa_register %rax
    sub $64, %rsp
    and $-64, %rsp
    mov %rbx, 40(%rsp)
    .cfi_escape 0x10, 3, 2, 0x77, 40
    mov %rax, 32(%rsp)
    .cfi_escape 0x0f, 5, 0x77, 32, 0x06, 0x23, 8
    .cfi_remember_state
    .macro leave_by_expression
    mov 40(%rsp), %rbx
    .cfi_restore %rbx
    mov 32(%rsp), %rsp
    .cfi_def_cfa %rsp, 8
    .endm
    body by_expression leave_by_expression
)");

int main() {
  static const long words[4] = {6, 3, 8, 1};
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  long calls = 0;
  for (auto function : {by_stack_pointer, by_frame_pointer, by_expression}) {
    long caught = 0;
    for (int uninterrupted = 0; uninterrupted < 2; ++calls) {
      try {
        function(words);
        ++uninterrupted;
      } catch (const Interrupted&) {
        ++caught;
        uninterrupted = 0;
      }
    }
    std::printf("%ld\n", caught);
  }
  if (cleaned == calls && damaged == 0) return 0;
  std::printf("of %ld calls, %ld cleaned up, %ld found damage\n", calls, cleaned, damaged);
  return 1;
}
