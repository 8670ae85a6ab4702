# Hooks leave %al and the vector registers alone: variable arguments arrive.
. "${0%/*}/../common.inc"

matrix varargs.c
