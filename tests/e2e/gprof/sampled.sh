# Without hooks gprof shows who called through pointers, too: such calls are counted, and their callers are those of the samples.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >program.c <<'C'
#include <stdlib.h>
static volatile long sum;
__attribute__((noipa)) static void operate(int n) { for (int i = 0; i < 3000; i++) sum += n; }
static void (*const table[])(int) = {operate, operate};
// One call that says what it calls, and many that do not.
__attribute__((noipa)) static void interpret(int n) {
  if (n == 0) operate(0);
  table[n & 1](n), sum++;
}
__attribute__((noipa)) static void seldom(int n) { table[n & 1](n), sum++; }
__attribute__((noipa)) static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) static void work(long n) { for (long i = 0; i < n; i++) sum += i * i; }
__attribute__((noipa)) static void twice(void) { work(200000), work(200000); }
__attribute__((noipa)) static void once(void) { work(200000); }
__attribute__((noipa)) static void little(void) { sum++; }
__attribute__((noipa)) static void few(void (*f)(void)) { for (int i = 0; i < 100; i++) f(), sum++; }
__attribute__((noipa)) static void many(void (*f)(void)) { for (int i = 0; i < 300; i++) f(), sum++; }
int main(void) {
  static int numbers[1000000];
  void (*volatile rare)(void) = little;
  for (int i = 0; i < 1000000; i++) numbers[i] = rand();
  qsort(numbers, 1000000, sizeof *numbers, compare);
  few(twice), few(once), many(once), rare();
  for (int i = 0; i < 30000; i++) interpret(i);
  for (int i = 0; i < 3000; i++) seldom(i);
  return 0;
}
C
compile program program.c -O1 -g
run prof run ./program
[ "$status" = 0 ] || fail "prof run: $status $(cat stderr)"
run prof -g gmon.out program
grep -q '^prof: gmon.out: who made [0-9]* calls through pointers is estimated' stderr || fail "prof -g: $(cat stderr)"
gprof -b -q program gmon.out >graph || fail gprof

# calls CALLER CALLEE: how many gprof shows of these, above the callee's own line.
calls() {
  awk -v caller="$1" -v callee="$2" '
    /^-/ { above = 1; number = 0 }
    /^\[/ { above = 0; if ($(NF - 1) == callee) { print number; exit } }
    above && $(NF - 1) == caller { split($(NF - 2), part, "/"); number = part[1] }' graph
}
[ "$(calls few twice)" = 100 ] || fail "few called twice: $(cat graph)"
[ "$(calls main few)" = 2 ] && [ "$(calls twice work)" = 200 ] && [ "$(calls once work)" = 400 ] || fail "direct calls: $(cat graph)"
compared=$(prof --json program 2>/dev/null | jq '.functions[] | select(.name == "compare").calls')
[ "$(calls main compare)" = "$compared" ] || fail "main called compare, $compared times: $(cat graph)"
by_few=$(calls few once) by_many=$(calls many once)
[ $((by_few + by_many)) = 400 ] && [ "$by_few" -ge 50 ] && [ "$by_few" -le 150 ] || fail "once: $by_few by few, $by_many by many"

by_interpret=$(calls interpret operate) by_seldom=$(calls seldom operate)
[ $((by_interpret + by_seldom)) = 33001 ] && [ "$by_seldom" -ge 1500 ] && [ "$by_seldom" -le 5000 ] ||
  fail "operate: $by_interpret by interpret, $by_seldom by seldom: $(cat graph)"

# prof -G marks what is estimated, and nothing else; its times of calls are those of samples. With --propagated it is what gprof prints.
run prof -G program
for line in '~100/100 *twice' '2/2 *few' '200/600 *twice' "~$by_few/400 *once" "~$by_interpret/33001 *interpret" ' - *main .*\[' ; do
  grep -Eq "[ ]$line" stdout || fail "prof -G has no $line: $(cat stdout)"
done
grep -q '^times of calls are those of samples' stdout || fail "prof -G: $(grep times stdout)"
run prof -G --propagated program
! grep -q '~' stdout || fail "--propagated: $(grep '~' stdout)"
gprof -b program gmon.out >expected
sed '/^Index by/,$d' stdout | grep -E '/[0-9]+ ' >shown
sed '/^Index by/,$d' expected | grep -E '/[0-9]+ ' | cmp -s - shown || fail "--propagated is not what gprof prints: $(diff expected stdout | head)"
run prof gprof program prof.*[0-9]
grep -q 'who made [0-9]* calls through pointers' stderr || fail "prof gprof: $(cat stderr)"

# What no sample tells of.
[ "$(calls _start little)" = 1 ] || fail "little: $(cat graph)"

# Calls from outside, if there is nothing to stand for their caller, are those alone that nothing else is known to have made.
cp program named && strip -o program named
rm -f prof.*
run prof run ./program
[ "$status" = 0 ] || fail "stripped: $status $(cat stderr)"
run prof -g gmon.out program
left_out=$(sed -n 's/^prof: gmon.out: leaves out \([0-9]*\) calls\{0,1\} from outside.*/\1/p' stderr)
[ "${left_out:-0}" -ge 1 ] && [ "$left_out" -le 10 ] || fail "stripped: $left_out calls are left out: $(cat stderr)"
