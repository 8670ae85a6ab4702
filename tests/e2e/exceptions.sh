# C++ exceptions are thrown, caught and rethrown through copies.
. "${0%/*}/common.inc"

# A static C++ program is large: not every combination.
compilers=gcc matrix exceptions.cc -fno-optimize-sibling-calls
compilers=clang links="pie static" matrix exceptions.cc -fno-optimize-sibling-calls
