# The functions that V8 compiles for itself (node) stay, byte for byte; everything around them is profiled.
. "${0%/*}/../common.inc"

compile program "$programs/v8.c" -O2
rewrite program
profiled program
expect_calls program <program.stdout
jq -e '[.skipped[] | select(.name | startswith("Builtins_")) | .reason] | length == 2 and all(contains("V8"))' program.report >/dev/null ||
  fail "$(jq -c .skipped program.report)"
