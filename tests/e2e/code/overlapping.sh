# Unwind tables that overlap.
. "${0%/*}/../common.inc"

# Entered in its middle, it may stay, and the report says so. GNU ld refuses to link them; lld does not.
may_skip=whole
matrix overlapping.c -fuse-ld=lld
