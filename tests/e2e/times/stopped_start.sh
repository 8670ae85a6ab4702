# A program that loses its processor while the runtime takes its first time stamps: the clocks of threads compare what the
# counter and the kernel's clock say from one moment on, not from two. gdb stops it there.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#include <stdio.h>
#include <time.h>
static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void nap(long ns) {
  struct timespec t = {0, ns};
  nanosleep(&t, NULL);
}
__attribute__((noipa)) void burn(double seconds) {
  double start = cpu();
  while (cpu() - start < seconds) {
  }
  nap(1);  // the runtime asks the kernel
}
__attribute__((noipa)) void early(void) { burn(0.001); }
__attribute__((noipa)) void late(void) { burn(0.009); }
int main(void) {
  early();
  nap(300000000);
  late();
}
C
compile program program.c -O1
rewrite program -F early -F late -F main --no-imports
export DEBUGINFOD_URLS=''
PROFDIR=. gdb -nx -q -batch -ex 'set breakpoint pending on' -ex 'break libprof::begin_clocks' -ex run -ex 'shell sleep 0.2' \
  -ex delete -ex continue ./program.prof >gdb.log 2>&1 </dev/null
grep -q 'hit Breakpoint\|^Breakpoint 1, ' gdb.log && grep -q 'exited normally' gdb.log || fail "gdb: $(tail -n 3 gdb.log)"
prof --json program.prof prof.[0-9]* >json 2>prof.log || fail "$(cat prof.log)"
jq -e '.tsc_hz as $hz | [.functions[] | select(.name == "late")][0].total_cycles / $hz | . > 0.0085' json >/dev/null ||
  fail "late ran 0.009 s, shown $(jq -c '.tsc_hz as $hz | [.functions[] | {name, s: (.total_cycles / $hz)}]' json)"
