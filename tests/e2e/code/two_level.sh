# A comparison of what a table holds at an index is no bound of the index.
. "${0%/*}/../common.inc"

links="pie no-pie static" matrix two_level.c
