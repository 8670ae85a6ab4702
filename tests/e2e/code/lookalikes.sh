# Numbers that look like addresses of code stay what they are, in programs at a fixed address.
. "${0%/*}/../common.inc"

links="no-pie static" matrix lookalikes.c
