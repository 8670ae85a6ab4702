# A program that gives up its right to read the time-stamp counter makes more calls from there on than cycles pass: they are
# all counted, and nothing is called damaged.
. "${0%/*}/../common.inc"

cat >stopped.c <<'C'
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
KEPT void f(int depth) {
  if (depth > 0) f(depth - 1);
  __asm__ volatile("");
}
KEPT void* thread(void* p) {
  f(9);
  return p;
}
int main(int argc, char** argv) {
  f(3);
  const char way = argv[1][0];  // strict, tsc, or alone: tsc without a thread
  if (way == 's') {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (int i = 0; i < 50000; i++) f(i % 400);
    syscall(SYS_exit, 0);
  }
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  for (int i = 0; i < 50000; i++) f(i % 400);
  if (way == 'a') return 0;
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  pthread_join(t, 0);
  return 0;
}
C
compile stopped stopped.c -O2 -fno-optimize-sibling-calls
rewrite stopped
calls=$((4 + 125 * 400 * 401 / 2))
for type in $types; do
  for way in tsc alone strict; do
    rm -rf profiles
    mkdir profiles
    PROFTYPE=$type PROFDIR=profiles ./stopped.prof $way || fail "$type, $way: status $?"
    expected=$calls
    [ $way != tsc ] || expected=$((calls + 10))
    run prof stopped.prof profiles/prof.*
    [ "$status" = 0 ] && ! grep -q 'damaged\|cannot be' stderr || fail "$type, $way: $status $(cat stderr)"
    has_row $expected "f" || fail "$type, $way: not $expected calls: $(cat stdout)"
    grep -q '?' stdout && fail "$type, $way: doubts: $(cat stdout)"
  done
done
exit 0
