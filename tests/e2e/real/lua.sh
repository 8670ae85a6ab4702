# Debian's own stripped lua5.4: same output, and twice the same number of calls.
. "${0%/*}/../common.inc"

cp "$(command -v lua5.4)" lua
rewrite lua
mostly_instrumented lua
profiled lua "$programs/life.lua" 20
[ "$(total_calls lua)" -gt 1000000 ] || fail "only $(total_calls lua) calls"
profiled lua -e 'error("no")'
[ "$status" = 1 ] || fail "status $status of an error"
INPUT=$programs/life.lua profiled lua - 5
profiled lua -e 'os.exit(7)'
profiled lua -v
