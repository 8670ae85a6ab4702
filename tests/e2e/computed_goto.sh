# Computed gotos: tables of labels, distances between labels, labels in variables.
. "${0%/*}/common.inc"

# Distances between labels are plain numbers: nothing in the file says that they lead to code, so the function may stay.
# So may the one whose labels are immediate operands, in a non-PIE: numbers that nothing tells from any others.
may_skip="distances coroutine"
matrix computed_goto.c
