# Jump tables of every kind go on working in the copies, and calls from their cases are counted.
. "${0%/*}/../common.inc"

matrix switch.c
matrix masked_switch.c
# Where the words in front of a table are another function's, and nothing tells where entry 0 would be, the function stays. So does
# one that computes labels from entries without an index.
may_skip="far_above_zero differences" matrix negative_index.c

# Made-up programs of all forms; `make switches' has more.
JOBS=1 "$tests/switches/run" "$BUILD" 1-4 gcc clang -O2 pie no-pie >totals 2>&1 || fail "$(grep -m 1 -A 3 '^FAIL' totals || tail -n 3 totals)"
JOBS=1 "$tests/switches/run" "$BUILD" 5-6 gcc -O2 no-pie -b >totals 2>&1 || fail "$(grep -m 1 -A 3 '^FAIL' totals || tail -n 3 totals)"
