# prof compare: what it prints of a program as it is, profiled, and built by gcc -pg. Nothing here depends on times.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
volatile unsigned sum;
KEPT void leaf(void) { sum++; }
KEPT void twice(void) {
  leaf();
  leaf();
}
KEPT int down(int n) { return n ? down(n - 1) + 1 : 0; }
KEPT int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
  int lines = 0, numbers[] = {3, 1, 2};
  for (int c; (c = getchar()) != EOF;) lines += c == '\n';
  for (int i = 0; i < 1000; ++i) twice();
  down(9);
  qsort(numbers, 3, sizeof *numbers, compare);
  printf("%d lines, %s\n", lines, argc > 1 ? argv[1] : "-");
#ifdef FAILS
  return 4;
#endif
  return 3;
}
C
compile program program.c -O1
compile program.pg program.c -O1 -pg
compile failing.pg program.c -O1 -pg -DFAILS
printf 'a\nb\n' >two

# compared ARGUMENTS...: runs prof compare with two lines on standard input.
compared() { cat two | prof compare "$@" >stdout 2>stderr; status=$?; }

compared --runs 2 --pg ./program.pg ./program --runs
[ "$status" = 3 ] || fail "status $status: $(cat stderr)"
[ "$(cat stdout)" = "2 lines, --runs" ] || fail "the program prints $(cat stdout)"
[ -z "$(find . -name 'prof.*' -o -name 'gmon*')" ] || fail "leaves $(find . -name 'prof.*' -o -name 'gmon*')"
grep -qx './program, medians of 2 runs of each' stderr || fail "no header: $(cat stderr)"
for side in "as it is" profld "gcc -pg"; do
  grep -qP '^ *[0-9.]+[num]?s? +([0-9.]+x|-) +[0-9.]+[num]?s +[0-9.]+x\t'"$side"'$' stderr || fail "no line of $side: $(cat stderr)"
done
# calls NAME PROFLD PG: the calls that both have.
calls() { grep -qP "^ *[0-9.]+|^ *-" stderr && grep -qP "^ *([0-9.]+|-) +([0-9.]+|-) +$2 +$3\t$1\$" stderr || fail "calls of $1: $(cat stderr)"; }
calls leaf 2000 2000
calls twice 1000 1000
calls down 10 10
calls main 1 -
calls compare '[23]' -
grep -q '^calls of 3 functions are the same by profld and gcc -pg, of 0 they differ; 2 by profld alone$' stderr || fail "no sum: $(cat stderr)"

# The same as JSON, in a file, without gcc -pg; the numbers of calls are of one run.
compared --json --output all.json --runs 2 ./program
[ "$status" = 3 ] && [ ! -s stderr ] || fail "--json: $status $(cat stderr)"
[ "$(jq -c '[.runs[].name], [.runs[].elapsed_seconds | length], ([.functions[] | {(.name): .profld.calls}] | add | .leaf, .down), .calls' all.json | paste -sd ' ')" = \
  '["as it is","profld"] [2,2] 2000 10 null' ] || fail "--json: $(cat all.json)"

# Where samples can be taken there are true shares, too; the program is too short to have many.
compared --runs 1 --true --type count --json --output all.json ./program
[ "$status" = 3 ] || fail "--true: $status $(cat stderr)"
[ "$(jq '[.functions[].profld.calls // 0] | max' all.json)" = 2000 ] || fail "--true: $(cat all.json)"
compared -n 1 --raw-names -w --runs 1 ./program
[ "$(grep -cP '\t(leaf|twice|down|main|compare|_?[a-z_]+)$' stderr)" = 2 ] || [ "$(grep -c . stderr)" -ge 5 ] || fail "-n 1: $(cat stderr)"
grep -q '^\.\.\. [0-9]* more; -n shows more$' stderr || fail "-n 1: $(cat stderr)"

# What goes wrong.
compared --runs 1 --pg failing.pg ./program
[ "$status" = 3 ] && grep -q 'the first run ended with status 3, a run of gcc -pg ended with status 4' stderr || fail "other status: $status $(cat stderr)"
compared --runs 1 --pg ./program ./program
grep -q 'program: left no gmon.out: it has to be compiled and linked by gcc -pg' stderr || fail "no gmon.out: $(cat stderr)"
rewrite program
compared ./program.prof
[ "$status" = 1 ] && grep -q 'is rewritten already' stderr || fail "a copy: $status $(cat stderr)"
for arguments in "" "--runs 0 ./program" "--pg" "--nonsense ./program" "--type no ./program"; do
  # shellcheck disable=SC2086
  run prof compare $arguments
  [ "$status" = 2 ] && [ ! -s stdout ] || fail "prof compare $arguments: $status $(cat stderr)"
done
