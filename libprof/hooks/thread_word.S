// The word of each thread that leads to its State; and the hooks that ask where the thread pointer leads first.

#include "hook_macros.h"

// It is thread-local, and of the one kind that is found without a call.
// It is all that the runtime has there: with many namespaces (dlmopen) the room for such words is soon used up.

        .section .tbss,"awT",@nobits
        .balign 8
        .hidden libprof_state
        .globl  libprof_state
        .type   libprof_state, @object
        .size   libprof_state, 8
libprof_state:
        .zero   8

        .data
        .balign 8
        .hidden thread_pointer_doubt
        .globl  thread_pointer_doubt
        .globl  _profdoubt
        .type   _profdoubt, @object
        .size   _profdoubt, 8
_profdoubt:
thread_pointer_doubt:
        .quad   0

        .text

        HIDDEN_FUNCTION get_state
        cmpq    $0, thread_pointer_doubt(%rip)
        jne     find_state_of_doubtful
        mov     libprof_state@gottpoff(%rip), %rax
        mov     %fs:(%rax), %rax
        ret
        END_FUNCTION get_state

        HIDDEN_FUNCTION set_state
        mov     libprof_state@gottpoff(%rip), %rax
        mov     %rdi, %fs:(%rax)
        ret
        END_FUNCTION set_state

        HIDDEN_FUNCTION thread_word_offset
        mov     libprof_state@gottpoff(%rip), %rax
        ret
        END_FUNCTION thread_word_offset

// The hooks that ask where the thread pointer leads, and then go on with the hook that is in use: see
// thread_pointer.cc.

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
