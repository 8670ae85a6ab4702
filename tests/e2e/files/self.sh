# profld, rewritten, rewrites profld to the same bytes as profld does.
. "${0%/*}/../common.inc"

runtime=$BUILD/lib/libprof.so
cp "$BUILD/bin/profld" profld
rewrite profld
[ -n "${SANITIZERS:-}" ] || mostly_instrumented profld  # their checks hide where return addresses go, so more stays
profld -q --libprof "$runtime" -o by_original profld || fail "profld failed"
PROFDIR=. ./profld.prof -q --libprof "$runtime" -o by_copy profld || fail "the rewritten profld failed"
cmp by_original by_copy || fail "the rewritten profld writes other bytes"
compgen -G "prof.[0-9]*" >/dev/null || fail "the rewritten profld left no profile"
