# Backtraces from a signal handler, wherever the signal came, hooks included, lead back to where the program began.
. "${0%/*}/../common.inc"

# How many calls fit between so many signals is not fixed.
calls_vary=yes
compilers=gcc matrix backtrace.c -fno-optimize-sibling-calls
compilers=clang links=pie matrix backtrace.c
