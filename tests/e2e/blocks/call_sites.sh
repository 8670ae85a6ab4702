# prof --call-sites tells from which lines functions were called, and gmon.out has arcs from these instructions.
. "${0%/*}/../common.inc"

cat >sites.c <<'C'
#include <stdio.h>
#include <stdlib.h>
typedef int function(int);
__attribute__((noipa)) int twice(int n) { return 2 * n; }
__attribute__((noipa)) int thrice(int n) { return 3 * n; }
__attribute__((noipa)) int once(int n) {
  return twice(n) +
         1;
}
__attribute__((noipa)) int several(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += thrice(i);
  return sum +
         thrice(n);
}
__attribute__((noipa)) int through(function* f, int n) {
  return f(n) + 1;
}
__attribute__((noipa)) int either(function* f, function* g, int n) {
  return n % 2 ? f(n)
               : g(n);
}
__attribute__((noipa)) int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
__attribute__((noipa)) int jumps(int n) { return twice(n + 1); }
int main(void) {
  int sum = 0, numbers[] = {3, 1, 2};
  for (int i = 0; i < 10; ++i)
    sum += once(i) + several(4);
  for (int i = 0; i < 5; ++i) sum += through(twice, i);
  for (int i = 0; i < 7; ++i) sum += either(twice, twice, i) + jumps(i);
  qsort(numbers, 3, sizeof *numbers, compare);
  return sum == 0;
}
C
# line_of TEXT: its number.
line_of() { grep -nF -e "$1" sites.c | head -n 1 | cut -d : -f 1; }
# has CALLS FROM TO [MARK]: whether stdout has this line.
has() { grep -qxP "\s*$1\t\Q$2 -> $3\E(\Q${4:+  $4}\E)" stdout; }
shown() { # PROGRAM WORD...
  run prof --call-sites "$1.prof" "$1.profiles"/prof.*
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$1: prof --call-sites: $status $(cat stderr)"
}

for level in -O0 -O1; do
  compile "sites$level" sites.c $level -g
  rewrite "sites$level"
  profiled "sites$level"
  shown "sites$level"
  has 10 "once sites.c:$(line_of 'return twice(n) +')" twice || fail "$level: one call: $(cat stdout)"
  has 50 several thrice "(of 2 calls)" || fail "$level: two calls: $(cat stdout)"
  has 5 "through sites.c:$(line_of 'return f(n) + 1')" twice || fail "$level: one indirect call: $(cat stdout)"
  has 7 either twice "(of 2 indirect calls)" || fail "$level: two indirect calls: $(cat stdout)"
  has 5 "main sites.c:$(line_of 'through(twice, i)')" through || fail "$level: main: $(cat stdout)"
  has 1 "main sites.c:$(line_of 'qsort(')" qsort || fail "$level: a function of a library: $(cat stdout)"
  grep -qP '\tqsort -> compare  \(through other code\)$' stdout || fail "$level: called by a library: $(cat stdout)"
done

# A jump at the end is a call.
compile tail sites.c -O2 -g
rewrite tail
profiled tail
shown tail
has 7 "jumps sites.c:$(line_of 'int jumps(')" twice || fail "a tail call: $(cat stdout)"

# Without debug information, instructions; and without the original: its code is in the copy.
strip -g -o bare sites-O0
rewrite bare
profiled bare
shown bare
objdump -d --no-show-raw-insn bare >code
address=$(awk '/<once>:$/ { inside = 1 } inside && /call.*<twice>/ { sub(/:.*/, "", $1); print $1; exit }' code)
entry=$(nm bare | sed -n 's/^0*\([0-9a-f]*\) T once$/\1/p')
distance=$(printf '+0x%x' $((16#$address - 16#$entry)))
has 10 "once$distance" twice || fail "without debug information: not $distance: $(cat stdout)"
mkdir gone
mv bare.prof gone
cp stdout before
run prof --call-sites gone/bare.prof bare.profiles/prof.*
[ "$status" = 0 ] && diff before stdout >difference || fail "without the original: $status $(cat stderr difference)"
run prof --call-sites --function once sites-O0.prof sites-O0.profiles/prof.*
[ "$(grep -c -e '->' stdout)" = 2 ] || fail "--function once: $(cat stdout)"
run prof --call-sites -t sites-O0.prof sites-O0.profiles/prof.*
[ "$status" = 2 ] || fail "--call-sites -t: exit status $status"

# gprof shows the same lines.
prof -g gmon.out sites-O0 sites-O0.profiles/prof.* 2>prof.log || fail "prof -g: $(cat prof.log)"
gprof -b -q sites-O0 gmon.out >graph 2>gprof.log || fail "gprof: $(cat gprof.log)"
grep -qE '10/29 +once ' graph || fail "gprof: $(cat graph)"
gprof -l -b -q sites-O0 gmon.out >lines 2>gprof.log || fail "gprof -l: $(cat gprof.log)"
grep -qE " 10/29 +once \(sites.c:$(line_of 'return twice(n) +') @ [0-9a-f]+\)" lines || fail "gprof -l: $(cat lines)"
grep -qE " 5/5 +main \(sites.c:$(line_of 'through(twice, i)') @ [0-9a-f]+\)" lines || fail "gprof -l: $(cat lines)"
exit 0
