# A jump to another function leaves this one and enters that one.
. "${0%/*}/../common.inc"

matrix tail_calls.c
