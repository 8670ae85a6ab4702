# pthread_exit and cancellation, at any instruction too, unwind copies, run their cleanup handlers and destructors, and leave the counts right.
. "${0%/*}/../common.inc"

compilers=gcc matrix cancel.cc -fno-optimize-sibling-calls
