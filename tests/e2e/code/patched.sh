# Programs that patch their own code: what a section lists as a place for that stays as it is, and the report says so.
. "${0%/*}/../common.inc"

# patched FUNCTION...: the program, and a stripped copy of it, patch these functions and find everything else counted; the
# place is not taken for a function of its own either.
patched() {
  local function options
  rewrite program
  for function in "$@"; do
    jq -e --arg f "$function" 'any(.skipped[]; .name == $f and (.reason | startswith("the program may patch it at 0x")))' \
      program.report >/dev/null || fail "$what: $function: $(jq -c .skipped program.report)"
  done
  profiled program
  cp program.stdout said
  strip -o stripped program
  for options in "" --discover; do
    rewrite stripped $options
    profiled stripped
    cmp -s said stripped.stdout || fail "$what, stripped, $options: $(diff said stripped.stdout | head -n 4)"
  done
}

for link in $links; do
  for CC in gcc clang; do
    for sites in 1 2 4; do
      turn || continue
      what="$CC $link SITES=$sites"
      # shellcheck disable=SC2046 # lists of words
      compile program "$programs/patched.c" -Os -DSITES=$sites $(link_flags "$link")
      patched f
      expect_calls program <program.stdout
      grep -qx '145 hits 10' program.stdout || fail "$what: $(cat program.stdout)"
    done
  done
  case $link in pie | static-pie) continue ;; esac
  CC=gcc
  what="$link SITES=3"
  # shellcheck disable=SC2046
  compile traced.o "$programs/patched.c" -c -Os -DSITES=3 $(link_flags "$link") -pg -mfentry -mrecord-mcount -mnop-mcount
  compile program traced.o $(link_flags "$link")
  patched f
  expect_calls program <program.stdout
  grep -qx '145 hits 10' program.stdout || fail "$what: $(cat program.stdout)"
done

# All code is made writable by the linker's symbols for its start and its end.
for link in $links; do
  turn || continue
  what="whole $link"
  # shellcheck disable=SC2046
  CC=gcc compile program "$programs/patched.c" -Os -DSITES=1 -DWHOLE $(link_flags "$link")
  patched f
  grep -qx '145 hits 10' program.stdout || fail "$what: $(cat program.stdout)"
done

for link in pie no-pie static; do
  what="XRay $link"
  # shellcheck disable=SC2046
  CC=clang compile program "$programs/xray.cc" -O2 -fxray-instrument $(link_flags "$link")
  patched _ZL6sum_upi _ZL6thricei
  [ "$(grep -c ': 550, 66 entries, 66 exits$' program.stdout)" = 2 ] || fail "$what: $(cat program.stdout)"
  expect_calls program <program.stdout
done
