# Debug information is read in each form that compilers and linkers write it in; where it cannot be, every view that needs it says
# so. A source that was changed after the program was compiled is told.
. "${0%/*}/../common.inc"

export XDG_CACHE_HOME=$PWD/cache
export PROFTYPE=count
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static inline int twice(int x) {
  return x * 2 + 1;
}
__attribute__((noinline)) int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += twice(i);
  return s;
}
int main(int argc, char** argv) {
  (void)argv;
  return work(100 * argc) == 0;
}
C
mkdir plain
gcc -g -O1 program.c -o plain/program || fail "gcc"

# views FOLDER: of FOLDER/program, without what differs from run to run; what prof says is in FOLDER/said.
views() {
  local folder=$1 file
  for file in annotate "disassemble=work" call-sites; do
    run prof run -b "--$file" "./$folder/program"
    [ "$status" = 0 ] || fail "$folder: --$file: exit status $status, $(cat stderr)"
    mv stderr "$folder/${file%=*}"
  done
  run prof run --inlined "./$folder/program"
  mv stderr "$folder/inlined"
  grep '^prof: ' "$folder"/{annotate,disassemble,call-sites,inlined} | grep -v 'the profile is\|hooks took\|^[^:]*:prof: program: [0-9.]* %' >"$folder/said"
  prof gprof -l -p -b "./$folder/program" "$(ls -t prof.* | head -n 1)" 2>"$folder/gprof.said" >"$folder/gprof" || fail "$folder: gprof -l"
  grep -o 'program\.c:[0-9]*\|[0-9#]* *[0-9]*   *  [^ ].*[;{]$' "$folder"/{annotate,disassemble,call-sites,inlined,gprof} | sed 's/^[^:]*\///' | grep -o ':.*' | sort >"$folder/shown"
}
views plain
[ "$(grep -c 'program\.c' plain/shown)" -ge 10 ] || fail "plain: $(cat plain/shown)"
[ ! -s plain/said ] || fail "plain: $(cat plain/said)"

# same FOLDER: its views show what the plain program's do, and nothing is said.
same() {
  views "$1"
  cmp -s plain/shown "$1/shown" || fail "$1: other lines: $(diff plain/shown "$1/shown" | head -n 5); $(cat "$1/said")"
  [ ! -s "$1/said" ] || fail "$1: says $(cat "$1/said")"
  [ ! -s "$1/gprof.said" ] || fail "$1: gprof -l says $(cat "$1/gprof.said")"
}
# says FOLDER TEXT VIEW...: each of these views says that.
says() {
  local folder=$1 text=$2 view
  shift 2
  views "$folder"
  for view; do grep -q "$text" "$folder/$view" || fail "$folder: --$view does not say $text: $(cat "$folder/$view")"; done
}

for way in zlib zlib-gnu zstd; do
  mkdir "$way"
  objcopy --compress-debug-sections=$way plain/program "$way/program" || fail "objcopy $way"
  same $way
done
# In a separate debug file.
mkdir separate
objcopy --only-keep-debug --compress-debug-sections=zstd plain/program separate/program.debug
strip -g -o separate/program plain/program
objcopy --add-gnu-debuglink=separate/program.debug separate/program
same separate
# Damaged, and in a way that is not known: the first word of the section.
section() { readelf -SW "$1" | sed -n "s/^ *\[ *[0-9]*\] \.debug_info *PROGBITS *[0-9a-f]* \([0-9a-f]*\).*/\1/p"; }
mkdir damaged unknown
cp zstd/program damaged/program && printf '\xff\xff\xff\xff\xff\xff' | dd of=damaged/program bs=1 seek=$((16#$(section damaged/program) + 40)) conv=notrunc status=none
says damaged 'debug information cannot be read: \.debug_info, compressed by zstd, is damaged' annotate disassemble call-sites inlined gprof.said
cp zstd/program unknown/program && printf '\x63' | dd of=unknown/program bs=1 seek=$((16#$(section unknown/program))) conv=notrunc status=none
says unknown 'compressed in an unknown way, number 99' annotate disassemble call-sites inlined gprof.said

for compiler in gcc clang; do
  for version in 4 5; do
    mkdir "whole$compiler$version" "split$compiler$version"
    $compiler -g -gdwarf-$version -O1 program.c -o "whole$compiler$version/program" || fail "$compiler"
    views "whole$compiler$version" && cp "whole$compiler$version/shown" plain/shown
    $compiler -g -gdwarf-$version -gsplit-dwarf -O1 -c program.c -o "split$compiler$version/program.o" || fail "$compiler -gsplit-dwarf"
    $compiler "split$compiler$version/program.o" -o "split$compiler$version/program"
    same "split$compiler$version"
  done
done
# The program was moved with them; the copy of prof run lies elsewhere.
mkdir moved
mv splitgcc5/program.dwo splitgcc5/program moved/ 2>/dev/null || fail "$(ls splitgcc5)"
views wholegcc5 && cp wholegcc5/shown plain/shown
mkdir -p elsewhere/splitgcc5 && mv moved/program elsewhere/ && mv moved/program.dwo elsewhere/splitgcc5/
same elsewhere
rm -r elsewhere/splitgcc5
says elsewhere 'prof: program: a part of its debug information, in .*/program\.dwo (-gsplit-dwarf), is not there or cannot be read' annotate inlined
: >elsewhere/program.dwp
says elsewhere 'nor can .*/elsewhere/program\.dwp: files \.dwp are not read' annotate inlined
mkdir elsewhere/splitgcc5 && mkfifo elsewhere/splitgcc5/program.dwo
says elsewhere 'program\.dwo (-gsplit-dwarf), is not there or cannot be read' annotate inlined

# A part of it is in dwz's file, beside the original.
mkdir dwz
gcc -g -O1 program.c -o dwz/program && gcc -g -O1 -DTWO program.c -o dwz/two
(cd dwz && dwz -m common.dwz -M common.dwz program two) || fail "dwz"
gcc -g -O1 program.c -o plain/program && views plain
same dwz
objcopy --compress-debug-sections=zstd dwz/common.dwz
same dwz
rm dwz/common.dwz
says dwz 'a part of its debug information, which dwz moved to common.dwz, is not there' annotate disassemble inlined gprof.said

# The source is newer than the program, or shorter.
touch -d '1 minute' program.c
says plain 'program\.c: the source is newer than the program; numbers may stand at lines that they are not of' annotate disassemble
run prof gprof -A -l ./plain/program "$(ls -t prof.* | head -n 1)"
grep -q 'program\.c: the source is newer than the program' stderr || fail "gprof -A: $(cat stderr)"
touch -d '-1 day' program.c
views plain
[ ! -s plain/said ] || fail "an older source: $(cat plain/said)"
head -n 12 program.c >short && mv short program.c && touch -d '-1 day' program.c
says plain 'program\.c: the source is shorter than when the program was made' annotate
exit 0
