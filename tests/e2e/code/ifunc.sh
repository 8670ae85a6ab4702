# IFUNC resolvers run before the program is relocated, and are functions too.
. "${0%/*}/../common.inc"

# The resolver has the same address as the function that it resolves.
by_address=yes
matrix ifunc.c
