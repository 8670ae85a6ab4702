# Rust: panics through many frames, caught and in threads; and Debian's own ripgrep.
. "${0%/*}/../common.inc"

while read -r options; do
  # shellcheck disable=SC2086 # a list of words
  made parcels /usr/bin/rustc -A warnings $options -o parcels "$programs/parcels.rs" 2>compile.log || fail "cannot compile: $options $(head -n 3 compile.log)"
  rewrite parcels
  mostly_instrumented parcels
  profiled parcels
  [ "$status" = 3 ] || fail "exit status $status"
  expect_calls parcels <parcels.stdout
  strip parcels
  rewrite parcels
  profiled parcels
done <<'LIST'
-C opt-level=0
-O
-O -C relocation-model=static
-O -C target-feature=+crt-static
LIST

cp "$(command -v rg)" rg
rewrite rg
mostly_instrumented rg
profiled rg --sort path -n 'fn (\w+)<' "$programs"
grep -q largest rg.stdout || fail "found $(cat rg.stdout)"
profiled rg -c --sort path -e '^use' -e '[[:upper:]]{3,}\b' "$programs"
profiled rg '(' "$programs"
[ "$status" = 2 ] || fail "exit status $status of an error"
