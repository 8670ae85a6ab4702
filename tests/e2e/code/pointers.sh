# Functions keep their addresses: pointers to them compare equal, libc's callbacks reach the copies.
. "${0%/*}/../common.inc"

matrix pointers.c
