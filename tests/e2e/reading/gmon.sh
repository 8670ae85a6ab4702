# gmon.out in the corners: what gprof prints must be what prof prints.
. "${0%/*}/../common.inc"

cat >corners.c <<'C'
#include <stdlib.h>
// A local name with a dot, as of a function that the compiler has split; and recursion; and a caller that gprof cannot know.
__attribute__((noipa)) static int part(int n) __asm__("whole.part.0");
__attribute__((noipa)) static int part(int n) {
  for (volatile int i = 0; i < 10000000; i = i + 1) n ^= i;
  return n;
}
__attribute__((noipa)) int whole(int n) { return part(n) + 1; }
__attribute__((noipa)) int recurse(int n) { return n ? recurse(n - 1) + 1 : 0; }
__attribute__((noipa)) int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
__attribute__((noipa, destructor)) void at_the_end(void) { recurse(0); }
int main(void) {
  int numbers[100], sum = 0;
  for (int i = 0; i < 100; ++i) numbers[i] = i * 37 % 100;
  qsort(numbers, 100, sizeof *numbers, compare);
  for (int i = 0; i < 5; ++i) sum += whole(numbers[i]) + recurse(4);
  return sum == -1;
}
C
for link in $links; do
  # shellcheck disable=SC2046
  compile "$link" corners.c -O1 $(link_flags "$link")
  rewrite "$link"
  profiled "$link"
  flatten "$link"
  run prof -g gmon.out --gprof-symbols names "$link" "$link.profiles"/prof.*
  [ "$status" = 0 ] && [ ! -s stdout ] || fail "$link: prof -g: $status $(cat stderr)"
  gprof -b -p "$link" gmon.out >gprof.flat 2>gprof.log || fail "$link: gprof: $(cat gprof.log)"
  gprof -b -p -S names "$link" gmon.out >gprof.all 2>gprof.log || fail "$link: gprof -S: $(cat gprof.log)"
  gprof -b -q "$link" gmon.out >gprof.graph 2>gprof.log || fail "$link: gprof -q: $(cat gprof.log)"
  hz=$(jq .tsc_hz "$link.json")
  calls_of() { jq --arg f "$1" '[.functions[] | select(.name == $f) | .calls] | add' "$link.json"; }
  seconds_of() { jq --arg f "$1" --argjson hz "$hz" '[.functions[] | select(.name == $f) | .self_cycles / $hz] | add' "$link.json"; }
  [ "$(calls_of whole.part.0)" = 5 ] && [ "$(calls_of recurse)" = 26 ] || fail "$link: prof: $(cat "$link.calls")"
  awk -v s="$(seconds_of whole.part.0)" '$NF == "whole.part.0" { d = $3 - s; found = $4 == 5 && d < 0.0051 && d > -0.0051 } END { exit !found }' gprof.all ||
    fail "$link: whole.part.0 took $(seconds_of whole.part.0) s; gprof -S: $(cat gprof.all)"
  awk -v n="$(calls_of compare)" '$NF == "compare" { found = $4 == n } END { exit !found }' gprof.flat ||
    fail "$link: compare was called $(calls_of compare) times; gprof: $(cat gprof.flat)"
  # 6 calls from outside, 20 by itself.
  grep -qE '\b6\+20 +recurse' gprof.graph || fail "$link: recursion: $(grep recurse gprof.graph)"
  # Every function: the same calls, without those that a function made to itself. (Names that several functions have are left out.)
  jq -r '.tree as $tree | .functions as $functions
    | [$tree[] | select(.parent < 0 or $tree[.parent].function != .function)] | group_by(.function)[]
    | "\([.[].calls] | add)\t\($functions[.[0].function].name)"' "$link.json" >others.calls
  awk -F'\t' 'FILENAME == ARGV[1] { calls[$2] = $1; names[$2]++; next }
    { n = split($0, word, " ") } n == 7 && word[1] ~ /^[0-9.]+$/ && names[word[7]] == 1 && calls[word[7]] != word[4] {
      print word[7], calls[word[7]], word[4]; wrong = 1 } END { exit wrong }' others.calls gprof.all >calls.log ||
    fail "$link: calls differ: $(head -n 5 calls.log)"
done

# Only counted: gprof shows the calls.
rm -rf pie.profiles
PROFTYPE=count profiled pie
prof -g gmon.out pie.profiles/prof.* 2>prof.log || fail "count: $(cat prof.log)"
gprof -b -p pie gmon.out >gprof.flat 2>gprof.log || fail "count: $(cat gprof.log)"
awk '$NF == "whole" { found = $(NF - 3) == 5 } END { exit !found }' gprof.flat || fail "count: $(cat gprof.flat)"
grep -q nan gprof.flat && fail "count: $(cat gprof.flat)"
exit 0
