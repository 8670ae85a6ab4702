# Recursive functions: every call counts once, however deep.
. "${0%/*}/../common.inc"

# The compiler would turn some calls into loops.
matrix recursion.c -fno-optimize-sibling-calls
