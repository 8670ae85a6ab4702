# Coroutines: another stack is not a popped one.
. "${0%/*}/../common.inc"

matrix contexts.c -fno-optimize-sibling-calls
