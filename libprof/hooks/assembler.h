// What files of the runtime that are written in assembler share. A file that includes this is in .text from there on.
// clang-format off

#ifndef LIBPROF_ASSEMBLER_H
#define LIBPROF_ASSEMBLER_H

        .section .note.GNU-stack,"",@progbits   // no stack of this program must be executable

        .text

.macro FUNCTION name
        .balign 64
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
.endm

.macro HIDDEN_FUNCTION name
        .hidden \name
        FUNCTION \name
.endm

// The name by which rewritten programs and libraries know a function. A program may have functions with the plain names
// of its own, and export them, but no language makes such a name as this.
.macro ALSO_KNOWN name
        .globl  \name\().libprof
        .type   \name\().libprof, @function
        .set    \name\().libprof, \name
.endm

.macro END_FUNCTION name
        .cfi_endproc
        .size   \name, . - \name
.endm

#endif
