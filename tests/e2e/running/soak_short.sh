# A little of what `make soak` does: threads, signals, coroutines and children of every kind at once, killed at random
# instants; each profile that is left agrees with the counts of its process.
. "${0%/*}/../common.inc"

"$tests/soak/run" "$BUILD" 0 12 >soak.log 2>&1 || fail "$(grep -v Killed soak.log | tail -n 3)"
grep -Eq '^[1-9][0-9]+ profiles of [1-9][0-9]* killed runs agree' soak.log || fail "$(tail -n 1 soak.log)"
