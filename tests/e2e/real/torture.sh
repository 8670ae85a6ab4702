# A sample of GCC's execution tests, of all compilers, levels and link types; `make torture' has all.
. "${0%/*}/../common.inc"

# build FOLDER: a build folder for the tests, without a profld yet.
build() {
  mkdir -p "$1/bin" "$1/torture" "$BUILD/torture/gcc"
  ln -s "$BUILD/bin/prof" "$1/bin/prof"
  ln -s "$BUILD/lib" "$1/lib"
  ln -s "$BUILD/torture/gcc" "$1/torture/gcc"
}
torture() { "$tests/torture/run" "$@" >totals 2>&1; }

build good
ln -s "$BUILD/bin/profld" good/bin/profld
torture good -j1 "$(few_or_all 1/500 3/250)" || fail "$(grep -A 3 '^FAIL' totals || tail -n 3 totals)"
passed=$(sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p' totals)
[ "${passed:-0}" -ge "$(few_or_all 15 100)" ] || fail "only ${passed:-0} programs were tested"

# They can fail: profld refuses the program, or does not change it, or makes one that does something else.
check() {
  build "$1"
  cat >"$1/bin/profld"
  chmod +x "$1/bin/profld"
  ! torture "$1" -j1 gcc -O2 pie execute/20000112-1.c || fail "$1 passes: $(cat totals)"
  grep -q '^0 passed, 1 failed$' totals && grep -q "^FAIL .*$2" totals || fail "$1: $(head -n 3 totals)"
}
check refuses "profld: exit status 1, no" <<'EOF2'
#!/bin/sh
echo no >&2
exit 1
EOF2
check unchanged "no profile" <<'EOF2'
#!/bin/sh
echo '{"functions_total": 1, "skipped": []}' >"$2"
cp "$5" "$4"
EOF2
check changed "exit status 1, not 0" <<'EOF2'
#!/bin/sh
echo '{"functions_total": 1, "skipped": []}' >"$2"
cp /bin/false "$4"
EOF2
