// _profstart: the entry point of a rewritten static program. See start.cc.
//
// profld stores into _profentry the address of the program's own entry point minus the address of _profentry itself, and
// the offset of libprof_state from the thread pointer into the word that the R_X86_64_TPOFF64 relocation of this image
// names.

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

        .section .note.GNU-stack,"",@progbits
