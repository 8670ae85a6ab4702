// Where the handler of samples (sampling.cc) returns to. Debuggers and unwinders know signal frames by these two
// instructions, in exactly this form, where no unwind table speaks of them.

#include <asm/unistd.h>

        .text
        .balign 16
        nop                                     // some look at the byte before as well
        .hidden return_from_signal
        .globl  return_from_signal
        .type   return_from_signal, @function
return_from_signal:
        movq    $__NR_rt_sigreturn, %rax
        syscall
        .size   return_from_signal, . - return_from_signal

        .section .note.GNU-stack,"",@progbits
