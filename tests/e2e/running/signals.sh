# Signal handlers are counted; signals that arrive in hooks do no harm.
. "${0%/*}/../common.inc"

# How long it takes until the timer has rung often enough is not fixed.
calls_vary=yes
matrix signals.c
