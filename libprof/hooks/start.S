// How control comes to the runtime and leaves it beside the hooks: the entry points of a static program, and of what
// its system calls make, functions on another stack, and the return from the handler of signals.

#include <asm/unistd.h>

#include "assembler.h"

// _profstart: the entry point of a rewritten static program. See start.cc.
//
// profld stores into _profentry the address of the program's own entry point minus the address of _profentry itself,
// and the offset of libprof_state from the thread pointer into the word that the R_X86_64_TPOFF64 relocation of this
// image names.

        .data
        .balign 8
        .globl  _profentry
        .type   _profentry, @object
        .size   _profentry, 8
_profentry:
        .quad   0

        .text
        .balign 16
        .globl  _profstart
        .type   _profstart, @function
_profstart:
        .cfi_startproc
        .cfi_undefined %rip                     // the outermost frame
        mov     %rsp, %rdi
        mov     %rdx, %rsi
        mov     %rsp, %rbx
        .cfi_def_cfa_register %rbx
        call    start_static
        mov     %rbx, %rsp
        .cfi_def_cfa_register %rsp
        mov     %rax, %rdx
        lea     _profentry(%rip), %rax
        add     (%rax), %rax
        mov     %rax, -8(%rsp)
        // All other registers are 0, as the kernel leaves them.
        xor     %eax, %eax
        xor     %ebx, %ebx
        xor     %ecx, %ecx
        xor     %esi, %esi
        xor     %edi, %edi
        xor     %ebp, %ebp
        xor     %r8d, %r8d
        xor     %r9d, %r9d
        xor     %r10d, %r10d
        xor     %r11d, %r11d
        xor     %r12d, %r12d
        xor     %r13d, %r13d
        xor     %r14d, %r14d
        xor     %r15d, %r15d
        jmp     *-8(%rsp)
        .cfi_endproc
        .size   _profstart, . - _profstart

// _proftask: where a thread or process begins that a system call of a static program has made
// (linker-rewrite/x86/system_calls.cc). rcx = where it goes on, r11 = the number of the call; all other registers are
// kept, and the flags, and what may lie below the stack pointer.

        FUNCTION _proftask
        .cfi_def_cfa %rsp, 0
        .cfi_register %rip, %rcx
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        push    %rcx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rip, -136
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -144
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushf
        cld
        push    %rax
        push    %rdx
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        push    %r10
        mov     %r11, %rsi
        and     $-16, %rsp
        call    begin_task
        lea     -64(%rbp), %rsp
        pop     %r10
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rax
        popf
        pop     %rbp
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 136
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rcx
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     *%rcx
        END_FUNCTION _proftask

// Runs a function on another stack.

// uint64_t run_on_stack(char* stack_top, uint64_t (*function)(State*, uint64_t), State* state, uint64_t argument)
        HIDDEN_FUNCTION run_on_stack
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rdi, %rsp
        mov     %rsi, %rax
        mov     %rdx, %rdi
        mov     %rcx, %rsi
        call    *%rax
        mov     %rbp, %rsp
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        END_FUNCTION run_on_stack

// Where the handler of samples (sampling.cc) returns to. Debuggers and unwinders know signal frames by these two
// instructions, in exactly this form, where no unwind table speaks of them.

        .text
        .balign 16
        nop                                     // some look at the byte before as well
        .hidden return_from_signal
        .globl  return_from_signal
        .type   return_from_signal, @function
return_from_signal:
        movq    $__NR_rt_sigreturn, %rax
        syscall
        .size   return_from_signal, . - return_from_signal
