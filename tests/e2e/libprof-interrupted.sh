# A signal at each instruction on the way to where signals are blocked: its handler's calls are recorded as well, and in
# their contexts.
. "$(dirname "$0")/../libprof/common.inc"

hooked interrupted
entry=$(nm "$BUILD/lib/libprof.so" | awk '$3 ~ /libprof9run_heavy/ { print $1 }')
[ -n "$entry" ] || fail "libprof.so has no run_heavy"
for steps in {12..36}; do
  record interrupted "$entry" "$steps"
  signals=$(sed -n 's/^signals //p' stdout)
  [ "$signals" -gt 3 ] || fail "only $signals signals came, after $steps instructions"
  same_calls "after $steps instructions"
  awk '/^pid/ && ($10 != 0 || $12 != 0) { exit 1 }' profile || fail "after $steps instructions: $(grep ^pid profile | tail -n 1)"
done
