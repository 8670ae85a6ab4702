# Threads have trees of their own; their calls add up.
. "${0%/*}/../common.inc"

matrix threads.c -fno-optimize-sibling-calls
