# Hostile files: a fixed number of runs of each fuzz target. `make fuzz` goes on from there.
. "${0%/*}/common.inc"

[ -x "$BUILD/fuzz/elf" ] || run make -s -C "$tests/.." BUILD="$BUILD" fuzz-targets
run "$tests/fuzz/run" "$BUILD" 1000
[ "$status" = 0 ] || fail "$(grep FOUND stdout; tail -n 3 stderr)"
[ "$(grep -c ' ok: 1000 runs' stdout)" = 11 ] || fail "not all targets ran: $(cat stdout)"
