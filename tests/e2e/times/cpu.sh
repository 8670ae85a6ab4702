# PROFTYPE=cpu: times are those on a processor. Threads share one processor, and sleep as well. By the kernel's clock of its own
# time each measures how long a call took, from within and from around it: prof's figure lies between the two, however busy the
# machine is.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
#define INLINE static inline __attribute__((always_inline))
INLINE double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
INLINE void burn(double end) {
  while (now() < end) {
  }
}
struct took {
  double within, around;
} long_took, short_took, sleeps_took, second_took, main_took;
// CALL is a call of a function that measures itself, see BEGIN and END.
#define AROUND(function, CALL)                \
  do {                                        \
    const double around = now();              \
    CALL;                                     \
    function##_took.around += now() - around; \
  } while (0)
#define BEGIN const double begin = now()
#define END(function) function##_took.within += now() - begin

KEPT void sleeps(struct took* sum) {
  BEGIN;
  usleep(2000);
  sum->within += now() - begin;
}
KEPT void long_calls(void) {
  BEGIN;
  burn(begin + 0.3);
  END(long);
}
KEPT void short_call(double start, int i) {
  BEGIN;
  burn(start + i * 0.00005);
  END(short);
}
KEPT void many(void) {
  const double start = now();
  for (int i = 1; i <= 4000; ++i) AROUND(short, short_call(start, i));
}
KEPT void *first(void *unused) {
  AROUND(long, long_calls());
  for (int i = 0; i < 100; ++i) AROUND(sleeps, sleeps(&sleeps_took));
  return NULL;
}
KEPT void *second(void *unused) {
  const double around = now();
  many();
  BEGIN;
  burn(begin + 0.1);
  END(second);
  second_took.around = now() - around - short_took.within;
  return NULL;
}
int main(int argc, char **argv) {
  const double around = now();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  if (argc > 1 && !strcmp(argv[1], "no-page")) setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  BEGIN;
  burn(begin + 0.15);
  END(main);
  main_took.around = now() - around;
  printf("long_calls 1 %f %f\n", long_took.within, long_took.around);
  printf("short_call 4000 %f %f\n", short_took.within, short_took.around);
  printf("sleeps 100 %f %f\n", sleeps_took.within, sleeps_took.around);
  printf("second 1 %f %f\n", second_took.within, second_took.around);
  printf("main 1 %f %f\n", main_took.within, main_took.around);
}
C
compile program program.c -O1
compile without "$programs/without_perf_events.c"
rewrite program --no-imports # it works by asking for the time
export PROFTYPE=cpu

# What tells of switches: the C library's struct rseq; the page of a perf event; that page, but not for every thread;
# nothing.
for how in rseq page no-page nothing; do
  without=
  case $how in
    rseq) unset GLIBC_TUNABLES ;;
    nothing) without=./without ;;&
    *page) [[ $types = *cpu* ]] || continue ;;&
    *) export GLIBC_TUNABLES=glibc.pthread.rseq=0 ;;
  esac
  rm -rf program.profiles
  mkdir program.profiles
  before=$(stolen)
  PROFDIR=program.profiles run $without ./program.prof $how
  stolen=$(stolen_since "$before")
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$how: status $status, says $(cat stderr)"
  prof --json program.prof program.profiles/prof.* >program.json || fail "$how: no JSON"
  prof program.prof program.profiles/prof.* >view 2>prof.log || fail "$how: $(cat prof.log)"
  if [ $how = nothing ]; then
    [ "$(wc -l <prof.log)" = 1 ] && grep -q 'waits of less than .* count as time on a processor' prof.log || fail "$how: $(cat prof.log)"
  else
    [ ! -s prof.log ] || fail "$how: $(cat prof.log)"
  fi
  [ "$(jq -r .type program.json)" = cpu ] || fail "type $(jq .type program.json)"
  # The rate of prof's clock is known to a hundredth at least, and what hooks cost to some microseconds.
  jq -r '.tsc_hz as $hz | .functions[] | "\(.name) \(.self_cycles / $hz) \(.calls)"' program.json >selves
  awk -v how=$how -v stolen="$stolen" '
    BEGIN { slack = 0.002 + stolen }
    FILENAME == "stdout" { calls[$1] = $2; low[$1] = $3 * 0.98 - slack; high[$1] = $4 * 1.02 + slack; next }
    $1 in calls {
      n++
      if ($2 < low[$1] || $2 > high[$1] || $3 != calls[$1]) { print how ":", $1, "has", $2, "s in", $3, "calls, not", low[$1], "to", high[$1]; wrong = 1 }
    }
    END { if (n != 5) { print n, "functions"; wrong = 1 } exit wrong }' stdout selves >wrong || fail "$(paste -sd ';' wrong)"
done
