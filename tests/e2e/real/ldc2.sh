# ldc2, a compiler in D and C++: the same assembly, the same complaints.
. "${0%/*}/../common.inc"

cp "$(command -v ldc2)" ldc2
rewrite ldc2
mostly_instrumented ldc2
./ldc2 -c --output-s --of=expected.s "$programs/jobs.d"
profiled ldc2 -c --output-s --of=jobs.s "$programs/jobs.d"
cmp -s expected.s jobs.s || fail "other assembly: $(diff expected.s jobs.s | head -n 4)"
profiled ldc2 -c "$programs/collatz.c"
[ "$status" != 0 ] || fail "compiles C"
