# make install: the installed programs find their runtime, wherever they are put.
. "${0%/*}/common.inc"

make -s -C "$tests/.." install DEPS=no BUILD="$BUILD" PREFIX=/opt/profiler DESTDIR="$PWD/root" >make.log 2>&1 || fail "$(tail -n 3 make.log)"
for file in bin/profld bin/prof lib/libprof.so lib/libprof-sampler.so lib/libprof-audit.so share/man/man1/profld.1; do
  [ -s root/opt/profiler/$file ] || fail "no $file"
done
mandoc -Tascii root/opt/profiler/share/man/man1/profld.1 | tail -n 1 | grep -q "^profld $version " || fail "the foot of profld(1) has no version"
mv root/opt/profiler moved
PATH=$PWD/moved/bin:$PATH
compile program "$programs/cold.c" -O2
rewrite program
profiled program
expect_calls program <program.stdout
readelf -d program.prof | grep -q "NEEDED.*$PWD/moved/lib/libprof.so" || fail "needs $(readelf -d program.prof | grep NEEDED)"
