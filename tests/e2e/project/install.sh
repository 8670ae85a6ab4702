# make install: the installed programs find their runtime, wherever they are put. make uninstall takes all of it away again.
. "${0%/*}/../common.inc"

make -s -C "$tests/.." install DEPS=no BUILD="$BUILD" SANITIZE="${SANITIZERS:-}" PREFIX=/opt/profiler DESTDIR="$PWD/root" >make.log 2>&1 || fail "$(tail -n 3 make.log)"
for file in bin/profld bin/prof bin/proftarget lib/profld/libprof.so lib/profld/libprof-sampler.so lib/profld/libprof-audit.so share/man/man1/profld.1; do
  [ -s root/opt/profiler/$file ] || fail "no $file"
done
for maker in "make -s" /usr/lib/plan9/bin/mk; do
  cp -r root made
  (cd "$tests/.." && $maker uninstall PREFIX=/opt/profiler DESTDIR="$OLDPWD/made") >make.log 2>&1 || fail "$maker uninstall: $(tail -n 3 make.log)"
  left=$(find made ! -type d -o -name '*profld*')
  [ -z "$left" ] || fail "$maker uninstall leaves $left"
  rm -r made
done
mandoc -Tascii root/opt/profiler/share/man/man1/profld.1 | tail -n 1 | grep -q "^profld $version " || fail "the foot of profld(1) has no version"
mv root/opt/profiler moved
# What an older version has left there is not taken.
echo old >moved/lib/libprof.so
PATH=$PWD/moved/bin:$PATH
compile program "$programs/cold.c" -O2
rewrite program
profiled program
expect_calls program <program.stdout
readelf -d program.prof | grep -q "NEEDED.*$PWD/moved/lib/profld/libprof.so" || fail "needs $(readelf -d program.prof | grep NEEDED)"

# A copy that travels: the runtime is found from its own folder.
mkdir here
run profld --libprof '$ORIGIN/libprof.so' -o here/program.prof program
[ "$status" = 0 ] || fail "\$ORIGIN: $(cat stderr)"
cp moved/lib/profld/libprof.so here
mv here there
rm -r moved
./program >expected
PROFDIR=profiles there/program.prof >stdout || fail "a copy that travels: status $?"
cmp expected stdout && ls profiles/prof.* >/dev/null || fail "a copy that travels left no profile"

# README's first command leaves nothing out: prof run --libs and prof trace work after it.
links() { make -C "$tests/.." -n -B "$1" DEPS=no BUILD="$PWD/anew" | grep -o "LINK  [^\"]*" | sort; }
cmp <(links all) <(links demo) && [ "$(links all | wc -l)" = 6 ] || fail "make demo builds $(links demo)"
