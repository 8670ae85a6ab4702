# Functions too small for a jump at their entry are profiled where they are called directly.
. "${0%/*}/common.inc"

optimizations="-Os -O1"
matrix tiny.c -falign-functions=1 -fno-inline
