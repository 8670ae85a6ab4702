// The word of each thread that leads to its State. It is thread-local, and of the one kind that is found without a call.
// It is all that the runtime has there: with many namespaces (dlmopen) the room for such words is soon used up.

#include "assembler.h"

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
