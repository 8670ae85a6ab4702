// void* begin_sampled_thread(struct Start*): becomes the function that the program gave to pthread_create. It is the
// first that unwinders find, as it is without the runtime.

        .text
        .balign 16
        .hidden begin_sampled_thread
        .globl  begin_sampled_thread
        .type   begin_sampled_thread, @function
begin_sampled_thread:
        .cfi_startproc
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    take_start
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        mov     %rdx, %rdi
        jmp     *%rax
        .cfi_endproc
        .size   begin_sampled_thread, . - begin_sampled_thread

        .section .note.GNU-stack,"",@progbits
