# The runtime answers for the kernel what a seccomp filter will say: it must say the same.
. "${0%/*}/../common.inc"

made filter g++ -std=c++20 -O1 -I"$tests/.." -o filter "$tests/libprof/seccomp_filter.cc" "$tests/../libprof/kernel/allowed_calls.cc" 2>compile.log ||
  fail "cannot compile: $(head -n 3 compile.log)"
./filter 3000 >answers || fail "$(head -n 3 answers)"
awk '{ exit $1 < 1000 || $3 < 100 || $5 < 10 }' answers || fail "too few of a kind: $(cat answers)"
