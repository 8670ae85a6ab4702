# PROFTYPE=adaptive: every call is counted, times are estimated from some. Times are compared within one run only.
. "${0%/*}/../common.inc"

cat >program.cc <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static jmp_buf back;
void spin(long n) {
  for (volatile long i = 0; i < n; i = i + 1) {
  }
}
void one_part(long n) { spin(n); }
void three_parts(long n) { spin(3 * n); }
void by_return(void) { spin(20000); }
void by_throw(void) {
  spin(20000);
  throw 1;
}
void by_longjmp(void) {
  spin(20000);
  longjmp(back, 1);
}
long folded(long n) {
  if (n > 0) return folded(n - 1) + 1;
  spin(20000);
  return 0;
}
void *ends_by_exit(void *) {
  spin(2000000);
  pthread_exit(nullptr);
}
void *ends_by_return(void *) {
  spin(2000000);
  return nullptr;
}
void last(void) {
  spin(3000000);
  fflush(stdout);
  _exit(4);
}
int main(void) {
  unsigned random = 1;
  for (int i = 0; i < 300000; ++i) {
    random = random * 1103515245 + 12345;
    random >> 16 & 1 ? one_part(100) : three_parts(100);
  }
  for (int i = 0; i < 300; ++i) {
    by_return();
    try {
      by_throw();
    } catch (int) {
    }
    if (setjmp(back) == 0) by_longjmp();
  }
  for (int i = 0; i < 100; ++i) folded(1000);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, ends_by_exit, nullptr);
    pthread_join(thread, nullptr);
    pthread_create(&thread, nullptr, ends_by_return, nullptr);
    pthread_join(thread, nullptr);
  }
  puts("done");
  last();
}
C
compile program program.cc -O1 -fno-inline -fno-optimize-sibling-calls -fno-ipa-icf -fno-ipa-cp
rewrite program
export PROFTYPE=adaptive
profiled program
[ "$status" = 4 ] || fail "exit status $status"
prof --json program.prof program.profiles/prof.* >profile.json 2>prof.log || fail "$(cat prof.log)"
jq -r '.functions[] | .name |= sub("\\(.*"; "") | "\(.name) \(.calls) \(.total_cycles) \(.total_error_cycles) \(.self_cycles)"' profile.json >functions
[ "$(jq -r .type profile.json)" = adaptive ] || fail "$(head -c 200 profile.json)"

calls() { awk -v name="$1" '$1 == name { print $2 }' functions; }
[ $(($(calls one_part) + $(calls three_parts))) = 300000 ] || fail "calls: $(cat functions)"
[ "$(calls folded)" = 100100 ] && [ "$(calls by_throw)" = 300 ] && [ "$(calls main)" = 1 ] || fail "calls: $(cat functions)"
[ "$(calls spin)" = $((300000 + 900 + 100 + 6 + 1)) ] || fail "calls of spin: $(calls spin)"

# A function took at least what its loops take, on any processor: other load only adds to that. `took NAME ROUNDS`.
took() {
  awk -v name="$1" -v rounds="$2" '$1 == name { found = $3 >= rounds / 8 } END { exit !found }' functions ||
    fail "$1 took less than $2 rounds of its loop do: $(cat functions)"
}
took one_part $((100 * $(calls one_part)))
took three_parts $((300 * $(calls three_parts)))
took by_return 6000000
took by_throw 6000000
took by_longjmp 6000000
# Folded recursion has the time of its outermost calls; threads, main and what it ends in have time without returning.
took folded 2000000
took ends_by_exit 6000000
took ends_by_return 6000000
took last 3000000
took main 83000000
took spin 83000000
# Nothing took longer than what called it, and only calls of which some were not timed have an error.
jq -e '[.tree as $t | .tree[] | select(.parent >= 0 and .cycles > $t[.parent].cycles)] == []' profile.json >/dev/null || fail "a call took longer than its caller's"
awk '$1 ~ /parts?$/ && $4 == 0 || $1 ~ /^(by_|ends_|last|main)/ && $4 != 0 { bad = 1 } END { exit bad }' functions || fail "errors: $(cat functions)"

# What was recorded in different ways is not added up.
PROFTYPE=count profiled program
cp program.profiles/prof.* counted
PROFTYPE=adaptive profiled program
run prof program.prof program.profiles/prof.* counted
[ "$status" != 0 ] && grep -q 'different PROFTYPEs' stderr || fail "sum of counted and estimated: $status $(cat stderr)"
