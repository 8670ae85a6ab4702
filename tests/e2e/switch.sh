# Jump tables of every kind go on working in the copies, and calls from their cases are counted.
. "${0%/*}/common.inc"

matrix switch.c
matrix masked_switch.c
