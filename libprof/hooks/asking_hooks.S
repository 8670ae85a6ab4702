// The hooks that ask where the thread pointer leads, and then go on with the hook that is in use: see thread_pointer.cc.

#include "hook_macros.h"

// \word: as in hook_words.
.macro ASKING name, word
        HIDDEN_FUNCTION \name
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        mov     $\word, %edi
        CALL_CXX hook_of_doubtful
        mov     %rax, KEPT_NODE(%rsp)
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE
        .cfi_restore %rax
        .cfi_restore %rcx
        .cfi_restore %rdx
        .cfi_restore %rsi
        .cfi_restore %rdi
        .cfi_restore %r8
        .cfi_restore %r9
        .cfi_restore %r10
        .cfi_restore %r11
        jmp     *KEPT_NODE(%rsp)
        END_FUNCTION \name
.endm

        ASKING  ask_and_enter, 0
        ASKING  ask_and_leave, 1
        ASKING  ask_and_tail, 2
        ASKING  ask_and_jump, 3
