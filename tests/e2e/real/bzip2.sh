# Debian's own stripped bzip2 (the work is in its library): packs to the same bytes, unpacks, notices damage.
. "${0%/*}/../common.inc"

cp "$(command -v bzip2)" bzip2
rewrite bzip2
mostly_instrumented bzip2
for i in 1 2 3 4 5 6; do cat "$tests"/programs/*.c; head -c 30000 "$(command -v bash)"; done >plain
profiled bzip2 -9 -c plain
cp ./bzip2.stdout packed.bz2
[ "$(total_calls bzip2)" -gt 5 ] || fail "only $(total_calls bzip2) calls"
INPUT=packed.bz2 profiled bzip2 -d
cmp -s plain bzip2.stdout || fail "unpacked is not what was packed"
profiled bzip2 -tvv packed.bz2
head -c 5000 packed.bz2 >damaged.bz2
profiled bzip2 -t damaged.bz2
[ "$status" != 0 ] || fail "damage not noticed"
profiled bzip2 -k nowhere
