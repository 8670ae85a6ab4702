# Assembly by hand: whatever cannot be moved safely stays, and everything still computes the same.
. "${0%/*}/../common.inc"

may_skip="main"
matrix asm.c -Wa,--noexecstack
