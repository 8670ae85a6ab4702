# Stack frames of every kind: hooks move nothing on the stack.
. "${0%/*}/../common.inc"

matrix stack.c
