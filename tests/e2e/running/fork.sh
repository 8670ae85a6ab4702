# A forked child has a profile of its own.
. "${0%/*}/../common.inc"

matrix fork.c -fno-optimize-sibling-calls
