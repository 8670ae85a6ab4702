# Several names for one function are one function.
. "${0%/*}/common.inc"

matrix aliases.c
