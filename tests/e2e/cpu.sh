# PROFTYPE=cpu: times are those on a processor. Each thread burns as much of its own time as the kernel says, while two of them
# share one processor, and sleeps as well.
. "${0%/*}/common.inc"

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
static inline __attribute__((always_inline)) double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
static inline __attribute__((always_inline)) void burn(double end) {
  while (now() < end) {
  }
}
KEPT void sleeps(void) {
  usleep(2000);
  __asm__ volatile("");
}
KEPT void long_calls(double start) { burn(start + 0.3); }
KEPT void short_call(double start, int i) { burn(start + i * 0.00005); }
KEPT void many(void) {
  const double start = now();
  for (int i = 1; i <= 4000; ++i) short_call(start, i);
}
KEPT void *first(void *unused) {
  long_calls(now());
  for (int i = 0; i < 100; ++i) sleeps();
  return NULL;
}
KEPT void *second(void *unused) {
  many();
  burn(now() + 0.1);
  return NULL;
}
int main(int argc, char **argv) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  sleeps();
  if (argc > 1 && !strcmp(argv[1], "no-page")) setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  burn(0.15);
  puts("done");
}
C
# Starts a program that may not have a clock of its own.
cat >without.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
  execv(argv[1], argv + 1);
  return 98;
}
C
compile program program.c -O1
compile without without.c -O1
rewrite program
export PROFTYPE=cpu

run ./without ./program.prof
[ "$status" = 0 ] && [ "$(cat stdout)" = done ] || fail "without a clock: status $status, says $(cat stdout)"
[ "$(wc -l <stderr)" = 1 ] && grep -qx 'prof: PROFTYPE=cpu: the kernel refuses .*perf_event_paranoid.*: permission denied; nothing is recorded' stderr ||
  fail "without a clock: $(cat stderr)"
[ -z "$(compgen -G 'prof.*[0-9]')" ] || fail "without a clock it left a profile"

case $types in *cpu*) ;; *) exit 0 ;; esac
for how in page no-page; do
  profiled program $how
  flatten program
  [ "$(jq -r .type program.json)" = cpu ] || fail "type $(jq .type program.json)"
  # Seconds that each function burns itself, and how many calls of it are made.
  jq -r '.tsc_hz as $hz | .functions[] | "\(.name) \(.self_cycles / $hz) \(.calls)"' program.json >selves
  awk -v how=$how '
    BEGIN {
      burns["long_calls"] = 0.3; burns["short_call"] = 0.2; burns["second"] = 0.1; burns["main"] = 0.15; burns["sleeps"] = 0
      calls["long_calls"] = 1; calls["short_call"] = 4000; calls["second"] = 1; calls["main"] = 1; calls["sleeps"] = 101
    }
    $1 in burns {
      n++
      low = burns[$1] * 0.95 - 0.005; high = burns[$1] * 1.05 + 0.015
      if ($2 < low || $2 > high || $3 != calls[$1]) { print how ":", $1, "burns", burns[$1], "s, has", $2, "in", $3, "calls"; wrong = 1 }
    }
    END { if (n != 5) { print n, "functions"; wrong = 1 } exit wrong }' selves >wrong || fail "$(paste -sd ';' wrong)"
done
