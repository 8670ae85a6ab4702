# What to pay for: functions left out by size, leaves left out, and what prof suggests.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >program.c <<'C'
#include <stdio.h>
int tiny(int n) { return n + 1; }
int also_tiny(int n) { return n ^ 5; }
static long busy(long n) {
  for (int i = 0; i < 20000; ++i) n = n * 25214903917 + 11;
  return n;
}
long calls(long n) { return busy(n) + 1; }
int main(void) {
  long n = 0;
  for (int i = 0; i < 10000000; ++i) n += tiny(i) + also_tiny(i);
  for (int i = 0; i < 100; ++i) n += calls(i);
  printf("%ld\n", n);
  return 3;
}
C
compile program program.c -O1 -fno-inline

names() { prof --json program.prof program.profiles/prof.* | jq -r '.functions[].name' | sort | paste -sd ' '; }
rewrite program --no-leaves -F tiny -F also_tiny -F busy -F calls -F main
profiled program
[ "$(names)" = "calls main" ] || fail "--no-leaves: $(names)"
size=$(nm -S program | awk '$4 == "tiny" { print $2 }')
rewrite program --min-size $((16#$size + 1)) -F tiny -F busy -F main
profiled program
[ "$(names)" = "busy main" ] || fail "--min-size: $(names)"
run profld --min-size 1000000 -o x.prof program
[ "$status" = 3 ] && grep -q 'no function matches' stderr && [ ! -e x.prof ] || fail "--min-size 1000000: $status $(cat stderr)"
for wrong in x -1 12k ''; do
  run profld --min-size "$wrong" -o x.prof program
  [ "$status" = 2 ] && [ "$(cat stderr)" = "profld: --min-size: invalid size '$wrong'; write 500K, 20M or 2G" ] || fail "--min-size '$wrong': $status $(cat stderr)"
done

# The two that are called much; not the one that works, not the one called once. (Counts do not depend on how busy the
# machine is; that times count as well is tested in tests/unit.)
export PROFTYPE=count
rewrite program -F tiny -F also_tiny -F busy -F calls -F main
profiled program
run prof --suggest program.prof program.profiles/prof.*
[ "$(cat stdout)" = "-N also_tiny -N tiny" ] || [ "$(cat stdout)" = "-N tiny -N also_tiny" ] || fail "suggested: $(cat stdout stderr)"
grep -q '^prof: 2 functions with 100.0 % of all calls; without them timing takes 0[.]000 s, not [0-9]*[.][0-9]*[1-9]' stderr || fail "$(cat stderr)"
read -ra options <stdout
rewrite program "${options[@]}" -F '*'
profiled program
[[ " $(names) " != *" tiny "* && " $(names) " == *" busy "* ]] || fail "after the suggestion: $(names)"
run prof --suggest program.prof program.profiles/prof.*
[ ! -s stdout ] && grep -q 'no function is worth leaving out' stderr || fail "nothing to suggest: $(cat stdout stderr)"

# What is suggested for stripped functions and odd names can be given to profld as it is.
strip -o stripped program
rewrite stripped
profiled stripped
eval "options=($(prof --suggest stripped.prof stripped.profiles/prof.* 2>/dev/null))"
[ "${#options[@]}" = 4 ] && [[ ${options[1]} == '#'* ]] || fail "stripped: ${options[*]}"
rewrite stripped "${options[@]}"

# Moved, and silent.
rewrite program --no-hooks
profiled program
[ "$(prof --json program.prof program.profiles/prof.* 2>prof.log | jq '.functions | length')" = 0 ] || fail "--no-hooks: $(names)"
objdump -d program.prof | grep -A3 '<busy>:' >busy
! grep -q call busy && [ -s busy ] || fail "--no-hooks: $(cat busy)"
