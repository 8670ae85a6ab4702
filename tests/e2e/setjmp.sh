# Frames that longjmp skipped are closed.
. "${0%/*}/common.inc"

matrix setjmp.c -fno-optimize-sibling-calls
