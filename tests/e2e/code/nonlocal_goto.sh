# Jumps into the middle of a function from elsewhere land in its copy, whatever stands near it.
. "${0%/*}/../common.inc"

optimizations="-O0 -O2 -Os" matrix nonlocal_goto.c -falign-functions=1 -falign-labels=1 -fno-optimize-sibling-calls
