# Jump tables whose index is itself a product.
. "${0%/*}/../common.inc"

optimizations="-O1 -O2" matrix products.c
