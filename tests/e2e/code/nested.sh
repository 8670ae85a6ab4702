# GCC's nested functions, called through trampolines on the stack.
. "${0%/*}/../common.inc"

compilers=gcc
matrix nested.c
