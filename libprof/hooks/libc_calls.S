// prctl and syscall, in the place of the C library's: see sandbox.cc, threads.cc and sampling.cc. They do the same;
// errno is the C library's.
//
// A rewritten C library jumps to them by names of their own (linker-rewrite/program/replaced.h).
//
// A static program has no use for them, and no __errno_location that is found.

#include <asm/unistd.h>

#include "assembler.h"

#define CLONE_VM 0x100

        .text
        .weak   __errno_location
        .hidden libc_calls_start
        .hidden libc_calls_end
        .globl  libc_calls_start
        .globl  libc_calls_end
libc_calls_start:

// eax: -errno. The program sees -1.
.macro REPORT_ERROR
        neg     %eax
        push    %rax
        .cfi_adjust_cfa_offset 8
        mov     __errno_location@GOTPCREL(%rip), %rax
        test    %rax, %rax
        jz      9f
        call    *%rax
        mov     (%rsp), %ecx
        mov     %ecx, (%rax)
9:      pop     %rcx
        .cfi_adjust_cfa_offset -8
        or      $-1, %rax
        ret
.endm

.macro RETURN_RESULT
        cmp     $-4095, %rax
        jae     8f
        ret
8:      REPORT_ERROR
.endm

.macro CALL_WATCHED function
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    \function
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        RETURN_RESULT
.endm

// long syscall(long number, ...)
        .balign 16
        .globl  syscall
        .globl  _profsyscall
        .type   syscall, @function
        .type   _profsyscall, @function
syscall:
_profsyscall:
        ALSO_KNOWN _profsyscall
        .cfi_startproc
        cmp     $__NR_prctl, %rdi
        je      2f
        cmp     $__NR_seccomp, %rdi
        je      2f
        cmp     $__NR_fork, %rdi
        je      4f
        cmp     $__NR_clone, %rdi
        je      3f
        cmp     $__NR_rt_sigaction, %rdi
        je      6f
.irp number, __NR_chroot, __NR_pivot_root, __NR_mount, __NR_umount2, __NR_unshare, __NR_setns, \
        __NR_setuid, __NR_setreuid, __NR_setresuid, __NR_setfsuid, __NR_capset, __NR_landlock_restrict_self
        cmp     $\number, %rdi
        je      5f
.endr
1:      mov     %rdi, %rax
        mov     %rsi, %rdi
        mov     %rdx, %rsi
        mov     %rcx, %rdx
        mov     %r8, %r10
        mov     %r9, %r8
        mov     8(%rsp), %r9
        syscall
        RETURN_RESULT
2:      CALL_WATCHED watched_call
        // A child that shares the memory is no forked child; and one with a new stack returns to where that stack
        // leads.
3:      test    $CLONE_VM, %rsi
        jnz     1b
        test    %rdx, %rdx
        jnz     1b
4:      CALL_WATCHED watched_fork
5:      CALL_WATCHED watched_change
6:      CALL_WATCHED watched_action
        .cfi_endproc
        .size   syscall, . - syscall

// int prctl(int option, ...)
        .balign 16
        .globl  prctl
        .globl  _profprctl
        .type   prctl, @function
        .type   _profprctl, @function
prctl:
_profprctl:
        ALSO_KNOWN _profprctl
        .cfi_startproc
        mov     %r8, %r9
        mov     %rcx, %r8
        mov     %rdx, %rcx
        mov     %rsi, %rdx
        movslq  %edi, %rsi
        mov     $__NR_prctl, %edi
        CALL_WATCHED watched_call
        .cfi_endproc
        .size   prctl, . - prctl
libc_calls_end:

        .section .note.GNU-stack,"",@progbits
