# C++ objects: virtual calls, thunks, static initialisation, callables.
. "${0%/*}/common.inc"

matrix objects.cc
