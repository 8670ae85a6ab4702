# IFUNC resolvers run before the program is relocated, and are functions too.
. "${0%/*}/common.inc"

matrix ifunc.c
