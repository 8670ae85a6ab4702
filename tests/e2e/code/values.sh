# Results and arguments in every kind of register, and the values that callers keep in them.
. "${0%/*}/../common.inc"

matrix values.c
