# Frames that longjmp skipped are closed.
. "${0%/*}/../common.inc"

matrix setjmp.c -fno-optimize-sibling-calls

# The C library's own end of longjmp leaves no frame behind either: 200 + 1 + 50 + 21 times.
compile program "$programs/setjmp.c" -O2 -static -fno-optimize-sibling-calls
rewrite program
profiled program
expect_calls program <<<"calls __longjmp 272"
