// The word of each thread that leads to its State. It is thread-local, and of the one kind that is found without a call.
//
// Behind it there is a mark, which shows that the thread has a copy of what PT_TLS describes: see thread_pointer.cc.

#include "assembler.h"

        .section .tdata,"awT",@progbits
        .balign 8
        .hidden libprof_mark
        .type   libprof_mark, @object
        .size   libprof_mark, 8
libprof_mark:
        .ascii  "libprof\0"

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

        HIDDEN_FUNCTION thread_mark_offset
        mov     libprof_mark@gottpoff(%rip), %rax
        ret
        END_FUNCTION thread_mark_offset
