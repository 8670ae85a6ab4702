# Computed gotos: tables of labels, distances between labels, labels in variables.
. "${0%/*}/common.inc"

# Distances between labels are plain numbers: nothing in the file says that they lead to code, so the function may stay.
may_skip="distances"
matrix computed_goto.c
