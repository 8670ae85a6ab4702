# Jumps between a function and its .cold part are neither calls nor returns.
. "${0%/*}/../common.inc"

matrix cold.c
