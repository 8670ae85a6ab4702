# The thread loses its processor just when the runtime asks for the time, at the end of a function: that function still has the
# time that it measured of itself.
. "${0%/*}/../common.inc"

cat >ends.c <<'C'
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#define KEPT __attribute__((noipa))
#define INLINE static inline __attribute__((always_inline))
// Not through the C library, whose calls have hooks.
INLINE long call(long number, long a, void *b) {
  long result;
  asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return result;
}
INLINE double seconds(void) {
  struct timespec t;
  call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double ran;
static volatile unsigned sink;
KEPT void works(void) {
  const double begin = seconds();
  for (unsigned i = 0; i < 100000000; i++) sink = i;
  ran += seconds() - begin;
  call(SYS_getppid, 0, NULL);
}
int main(void) {
  for (int i = 0; i < 10; i++) works();
  printf("%.6f\n", ran);
  return 0;
}
C
compile ends ends.c -O1
compile delayed_clock "$programs/delayed_clock.c"
rewrite ends --quiet
mkdir profiles
before=$(stolen)
PROFDIR=profiles PROFTYPE=time ./delayed_clock ./ends.prof >printed || fail "status $?"
prof --json ends.prof profiles/prof.* >json || fail "prof: $?"
shown=$(jq '.tsc_hz as $hz | .functions[] | select(.name == "works") | .total_cycles / $hz' json)
awk -v shown="$shown" -v stolen="$(stolen_since "$before")" '{ exit !(shown > $1 * 0.95 - stolen && shown < $1 * 1.05 + stolen) }' printed || fail "works ran $(cat printed) s, shown $shown"

# The same happens to prof, which asks how long a tick is when the run was short.
cat >slow_clock.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t) {
  static int asked;
  int (*next)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, t);
  if (clock == CLOCK_MONOTONIC_RAW && asked++ == 0) usleep(300000);
  return result;
}
C
compile slow_clock.so slow_clock.c -shared -fPIC
echo 'int main(void) { return 0; }' >short.c
compile short short.c
rewrite short --quiet
PROFDIR=profiles ./short.prof || fail "short: $?"
profile=$(find profiles -newer short.prof -name 'prof.*')
LD_PRELOAD=${SANITIZERS:+$(gcc -print-file-name=libasan.so):}$PWD/slow_clock.so prof --json short.prof "$profile" >delayed.json || fail "prof: $?"
prof --json short.prof "$profile" >json || fail "prof: $?"
jq -se '(.[0].tsc_hz / .[1].tsc_hz - 1) | fabs < 0.01' delayed.json json >unused || fail "$(jq .tsc_hz delayed.json json | paste -sd ' ') ticks a second"
