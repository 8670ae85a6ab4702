# Functions of shapes that compilers seldom make, and every way out of them.
. "${0%/*}/../common.inc"

matrix shapes.c -Wa,--noexecstack

# A part of a function does not decode, and a jump leads into its middle.
cat >undecoded.c <<'END'
#include <stdio.h>
int odd(int);
__asm__(".text\n.globl odd\n.type odd, @function\nodd: .cfi_startproc\n test %edi, %edi\n js 1f + 1\n lea 1(%rdi), %eax\n ret\n"
        ".cfi_endproc\n.size odd, . - odd\n"
        ".type odd.cold, @function\nodd.cold: .cfi_startproc\n1: nop\n nop\n .byte 0x06\n ret\n.cfi_endproc\n.size odd.cold, . - odd.cold\n");
int main(void) { printf("%d\ncalls main 1\n", odd(3)); }
END
compile undecoded undecoded.c -O2
for options in "" -b; do
  # shellcheck disable=SC2086 # a word or none
  rewrite undecoded $options
  profiled undecoded
  expect_calls undecoded <undecoded.stdout
done
