# Debian's own stripped sqlite3 (the shell; the rest is in its library): same answers, same error, same exit status.
. "${0%/*}/../common.inc"

cp "$(command -v sqlite3)" sqlite3
rewrite sqlite3
mostly_instrumented sqlite3
INPUT=$programs/queries.sql profiled sqlite3 :memory:
[ "$(total_calls sqlite3)" -gt 100 ] || fail "only $(total_calls sqlite3) calls"
INPUT=$programs/queries.sql profiled sqlite3 -bail :memory:
profiled sqlite3 -json :memory: "SELECT 1 AS one, 'two' AS two; SELECT sqrt(2), strftime('%Y', 0, 'unixepoch')"
