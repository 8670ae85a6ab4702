# Thread-local variables keep their values, addresses and alignment; in static programs too.
. "${0%/*}/../common.inc"

matrix tls.c
