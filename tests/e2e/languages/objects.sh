# C++ objects: virtual calls, thunks, static initialisation, callables.
. "${0%/*}/../common.inc"

# A static C++ program is large: not every combination.
compilers=gcc matrix objects.cc
compilers=clang links="pie static" matrix objects.cc
