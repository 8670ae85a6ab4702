# Functions of a few bytes, without padding: a short jump to a longer one, or the function stays; never a wrong program.
. "${0%/*}/common.inc"

# Those without room for even a short jump, a lone ret for instance, may stay; then the report says so.
may_skip="nothing nothing_else zero same"
optimizations="-Os -O1"
matrix tiny.c -falign-functions=1 -fno-inline
