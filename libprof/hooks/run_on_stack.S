// Runs a function on another stack.

#include "assembler.h"

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
