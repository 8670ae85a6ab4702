// The code that calibrate.cc measures: functions that do nothing, two with hooks, one without, and one that jumps; and
// rounds of four calls, where every other call is of another function than the one before, or all are of the same
// function.

#include "assembler.h"

.macro PROBED name
        HIDDEN_FUNCTION \name
        call    *hook_words(%rip)
        .hidden \name\()_pc
        .globl  \name\()_pc
\name\()_pc:
        call    *hook_words+8(%rip)
        ret
        END_FUNCTION \name
.endm

        PROBED  probed
        PROBED  other_probed

// Jumps through a pointer to other_probed.
        HIDDEN_FUNCTION jumping
        call    *hook_words(%rip)
        .hidden jumping_pc
        .globl  jumping_pc
jumping_pc:
        lea     other_probed(%rip), %rax
        call    *hook_words+24(%rip)
        jmp     *%rax
        END_FUNCTION jumping

        HIDDEN_FUNCTION bare
        ret
        END_FUNCTION bare

.macro CALL_IN_ROUNDS name, function, other
        HIDDEN_FUNCTION \name
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        mov     %rdi, %rbx
1:      call    \function
        call    \function
        call    \other
        call    \other
        dec     %rbx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        ret
        END_FUNCTION \name
.endm

        CALL_IN_ROUNDS call_probed, probed, other_probed
        CALL_IN_ROUNDS call_one_probed, probed, probed
        CALL_IN_ROUNDS call_jumping, jumping, jumping
        CALL_IN_ROUNDS call_bare, bare, bare
