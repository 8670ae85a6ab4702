# C++ exceptions are thrown, caught and rethrown through copies.
. "${0%/*}/common.inc"

matrix exceptions.cc -fno-optimize-sibling-calls
