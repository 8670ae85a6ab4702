# A jump that is never taken does not make a part of a function of the next one.
. "${0%/*}/../common.inc"

optimizations=-O2 matrix jump_to_end.c
