# GCC's own compiler proper, cc1, compiling a real file: the same assembly.
. "${0%/*}/../common.inc"

cp "$(gcc -print-prog-name=cc1)" cc1
rewrite cc1
mostly_instrumented cc1
gcc -E -I"$programs" "$programs/switch.c" -o source.i
profiled cc1 -quiet -O2 -fpreprocessed source.i -o -
grep -q two_tables cc1.stdout || fail "no assembly"
[ "$(total_calls cc1)" -gt 1000000 ] || fail "only $(total_calls cc1) calls"
echo 'int f( { return }' >wrong.i
profiled cc1 -quiet -O2 -fpreprocessed wrong.i -o -
[ "$status" != 0 ] || fail "accepts nonsense"
