# Functions of shapes that compilers seldom make, and every way out of them.
. "${0%/*}/common.inc"

matrix shapes.c -Wa,--noexecstack
