# A program's own SIGBUS is its own: its handler sees what it always saw, and without one the program dies of it. The runtime
# handles no signal, for the program could tell.
. "${0%/*}/../common.inc"

matrix bus_error.c
