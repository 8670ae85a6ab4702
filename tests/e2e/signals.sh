# Signal handlers are counted; signals that arrive in hooks do no harm.
. "${0%/*}/common.inc"

matrix signals.c
