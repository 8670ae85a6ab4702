# Jump tables of every kind go on working in the copies, and calls from their cases are counted.
. "${0%/*}/../common.inc"

matrix switch.c
matrix masked_switch.c
# Where the words in front of a table are another function's, and nothing tells where entry 0 would be, the function stays. So does
# one that computes labels from entries without an index.
may_skip="far_above_zero differences" matrix negative_index.c
matrix known_index.c

# Made-up programs of all forms; `make switches' has more.
JOBS=1 "$tests/switches/run" "$BUILD" 1-4 gcc clang -O2 pie no-pie >totals 2>&1 || fail "$(grep -m 1 -A 3 '^FAIL' totals || tail -n 3 totals)"
JOBS=1 "$tests/switches/run" "$BUILD" 5-6 gcc -O2 no-pie -b >totals 2>&1 || fail "$(grep -m 1 -A 3 '^FAIL' totals || tail -n 3 totals)"

# Functions that only pointers lead to have tables one after the other, and no name: none is a part of the one before.
compile adjacent_tables "$programs/adjacent_tables.c" -O2 -fPIE -no-pie -s
rewrite adjacent_tables
jq -e 'all(.skipped[]; .reason | startswith("indirect jump") | not)' adjacent_tables.report >/dev/null ||
  fail "adjacent tables: $(jq -c .skipped adjacent_tables.report)"
profiled adjacent_tables
