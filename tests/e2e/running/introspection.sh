# What a program sees of itself (backtrace, dladdr, headers) is what it was.
. "${0%/*}/../common.inc"

matrix introspection.c -fno-optimize-sibling-calls
