// prctl and syscall, in the place of the C library's: see sandbox.cc. They do the same; errno is the C library's.
//
// A static program has no use for them, and no __errno_location that is found.

#include <asm/unistd.h>

        .text
        .weak   __errno_location

// eax: -errno. The program sees -1.
.macro REPORT_ERROR
        neg     %eax
        push    %rax
        .cfi_adjust_cfa_offset 8
        mov     __errno_location@GOTPCREL(%rip), %rax
        test    %rax, %rax
        jz      3f
        call    *%rax
        mov     (%rsp), %ecx
        mov     %ecx, (%rax)
3:      pop     %rcx
        .cfi_adjust_cfa_offset -8
        or      $-1, %rax
        ret
.endm

.macro RETURN_RESULT
        cmp     $-4095, %rax
        jae     1f
        ret
1:      REPORT_ERROR
.endm

.macro CALL_WATCHED
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    watched_call
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        RETURN_RESULT
.endm

// long syscall(long number, ...)
        .balign 16
        .globl  syscall
        .type   syscall, @function
syscall:
        .cfi_startproc
        cmp     $__NR_prctl, %rdi
        je      2f
        cmp     $__NR_seccomp, %rdi
        je      2f
        mov     %rdi, %rax
        mov     %rsi, %rdi
        mov     %rdx, %rsi
        mov     %rcx, %rdx
        mov     %r8, %r10
        mov     %r9, %r8
        mov     8(%rsp), %r9
        syscall
        RETURN_RESULT
2:      CALL_WATCHED
        .cfi_endproc
        .size   syscall, . - syscall

// int prctl(int option, ...)
        .balign 16
        .globl  prctl
        .type   prctl, @function
prctl:
        .cfi_startproc
        mov     %r8, %r9
        mov     %rcx, %r8
        mov     %rdx, %rcx
        mov     %rsi, %rdx
        movslq  %edi, %rsi
        mov     $__NR_prctl, %edi
        CALL_WATCHED
        .cfi_endproc
        .size   prctl, . - prctl

        .section .note.GNU-stack,"",@progbits
