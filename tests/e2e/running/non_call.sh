# With -fnon-call-exceptions, signal handlers throw out of the middle of functions, and ranges between calls have handlers.
. "${0%/*}/../common.inc"

compilers=gcc matrix non_call.cc -fnon-call-exceptions
