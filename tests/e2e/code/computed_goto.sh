# Computed gotos: tables of labels, distances between labels, labels in variables, compared with one another.
. "${0%/*}/../common.inc"

# In a non-PIE a label that is compared is a number that nothing tells from any others: the function may stay.
may_skip=compared
matrix computed_goto.c
