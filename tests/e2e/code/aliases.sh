# Several names for one function are one function.
. "${0%/*}/../common.inc"

# Which of its names is shown is not said here.
by_address=yes
matrix aliases.c
