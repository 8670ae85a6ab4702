# prof run --true: a program is run twice, for times from samples of it as it is and for exact calls.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
unset tabstop

cat >library.c <<'C'
static __attribute__((noipa)) unsigned hidden(unsigned n, long rounds) {
  for (long i = 0; i < rounds; ++i) n = n * 1664525 + 1013904223;
  return n;
}
__attribute__((noipa)) unsigned library_work(unsigned n, long rounds) {
  for (long i = 0; i < rounds; ++i) n = n * 1664525 + 1013904223;
  return hidden(n, rounds);
}
C
cat >program.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
unsigned library_work(unsigned n, long rounds);
static volatile unsigned sink;
static long rounds;
static inline __attribute__((always_inline)) double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
// Rounds of a loop that take 50 us of this processor: so there are samples, however fast it is.
static inline __attribute__((always_inline)) void measure_rounds(void) {
  const double begin = now();
  double end;
  do {
    for (volatile long i = 0; i < 10000; ++i) sink += i;
    rounds += 10000;
  } while ((end = now()) < begin + 0.02);
  rounds = (long)(rounds * 5e-5 / (end - begin));
}
KEPT unsigned spin(unsigned n) {
  unsigned x = 1;
  while (n-- > 0) x = x * 1664525 + 1013904223;
  return x;
}
KEPT void less(void) { sink += spin(1000); }
KEPT void more(void) { for (volatile long i = 0; i < rounds; ++i) sink += i; }
KEPT void* thread(void* times) {
  for (long i = (long)times; i > 0; --i) more();
  return NULL;
}
KEPT void byte(int c) { sink += c; }
KEPT void other_way(void) { for (volatile int i = 0; i < 100000000; ++i) sink += i; }
int main(int argc, char** argv) {
  const char* what = argv[1];
  if (!strcmp(what, "work")) {
    measure_rounds();
    for (int i = 0; i < 1000; ++i) less();
    for (int i = 0; i < 3000; ++i) more();
    for (int i = 0; i < 1500; ++i) sink += library_work(i, rounds);
  } else if (!strcmp(what, "family")) {
    measure_rounds();
    rounds *= 2;
    pthread_t t;
    pthread_create(&t, NULL, thread, (void*)1500);
    if (fork() == 0) {
      thread((void*)1400);
      exit(0);
    }
    pthread_join(t, NULL);
    wait(NULL);
  } else if (!strcmp(what, "exit")) {
    exit(atoi(argv[2]));
  } else if (!strcmp(what, "kill")) {
    raise(atoi(argv[2]));
  } else if (!strcmp(what, "read")) {
    for (int c; (c = getchar()) != EOF;) { byte(c); putchar(c); }
  } else if (!strcmp(what, "once")) {
    if (access("once", F_OK) == 0) return 3;
    fclose(fopen("once", "w"));
    other_way();
  } else if (!strcmp(what, "process")) {
    fprintf(stderr, "process %d\n", (int)getpid());
  } else if (!strcmp(what, "wait")) {
    puts("ready");
    fflush(stdout);
    for (;;) pause();
  }
  return 0;
}
C
compile liblibrary.so library.c -O1 -shared -fPIC
hidden=$(nm liblibrary.so | sed -n 's/^0*\([0-9a-f]*\) t hidden$/\1/p')
strip liblibrary.so
compile program program.c -O1 -L. -llibrary "-Wl,-rpath,$PWD"

# The table: said first that there are two runs; exact calls; functions of a library by their names, or by where they are.
run prof run --true ./program work
[ "$status" = 0 ] && [ ! -s stdout ] || fail "work: $status $(cat stderr)"
head -n 1 stderr | grep -q "^prof: ./program is run twice" || fail "not told: $(cat stderr)"
grep -qP '^ +% +Self +\+/- +Total +Calls +Per-call\tName$' stderr || fail "no heading: $(cat stderr)"
has_row 1000 'less' stderr && has_row 1000 'spin' stderr && has_row 3000 'more' stderr || fail "calls: $(cat stderr)"
has_row - 'library_work \[liblibrary.so\]' stderr || fail "the library: $(cat stderr)"
has_row - "#$hidden \[liblibrary.so\]" stderr || fail "no #$hidden in the library: $(cat stderr)"
tail -n 1 stderr | grep -qE 'the samples are in prof.samples, the profile is prof\.[0-9]+$' || fail "no files named: $(cat stderr)"
profile=$(tail -n 1 stderr | grep -oE '[^ ]*$')

# What was run can be put together again, with the program or without.
run prof --true prof.samples "$profile"
grep -P '^ *[-~0-9.]+ .*\t' stderr >from_run; run prof --true prof.samples ./program "$profile"
[ "$status" = 0 ] && has_row 3000 'more' || fail "--true: $status $(cat stderr)"
run prof -d --true prof.samples "$profile"
grep -qE 'spin:[-0-9.]+/1000$' stdout && ! grep -q library_work stdout || fail "-d: $(cat stdout)"

# JSON: the same in figures. Samples are of processor time, so load does not change their sum much.
prof --json --true prof.samples "$profile" >json 2>stderr || fail "--json: $(cat stderr)"
jq -e 'def f(n): .functions[] | select(.name == n); .type == "true" and .user_samples > 40 and
  f("more").samples > 20 and f("more").samples > f("less").samples and
  f("library_work").samples > 5 and (f("library_work").counted | not) and
  f("more").self_low <= f("more").self_cycles and f("more").self_cycles <= f("more").self_high and
  ((f("more").self_high - f("more").self_low) / (.tsc_hz * .sample_period_ns / 1e9 * (f("more").samples | sqrt)) | . > 2 and . < 6) and
  (f("more").self_seconds - f("more").samples * .sample_period_ns / 1e9 | fabs) < 1e-6 and
  (f("main").total_cycles - f("more").self_cycles - f("spin").self_cycles - f("main").self_cycles - f("less").self_cycles | fabs) < 100 and
  ([.functions[].samples] | add) == .user_samples + (.kernel_samples // 0)' json >/dev/null || fail "--json: $(cat json)"
jq -e '(.user_samples + (.kernel_samples // 0)) * .period_ns / (.user_time_ns + .system_time_ns) | . > 0.5 and . < 1.5' \
  prof.samples >/dev/null || fail "sum: $(head -n 1 prof.samples)"

# Threads and children are sampled, and their calls are added up.
run prof run --true ./program family
has_row 2900 'more' stderr && grep -q "of a child" stderr || fail "family: $(cat stderr)"
jq -e '[.threads[] | select(.user_samples > 20)] | length >= 2 and (map(.process) | unique | length) == 2' prof.samples.1 >/dev/null ||
  fail "family: $(cat prof.samples.1)"
rm -f prof.*

# It ends as the program does.
run prof run --true ./program exit 37
[ "$status" = 37 ] || fail "exit 37: $status $(cat stderr)"
for signal in 15 9 6; do
  { (exec prof run --true ./program kill $signal >stdout 2>stderr); } 2>/dev/null
  [ $? = $((128 + signal)) ] && has_row 1 'main' stderr || fail "kill $signal: $? $(cat stderr)"
done
prof run --true ./program wait >stdout 2>stderr &
until grep -q ready stdout; do kill -0 $! || fail "no program: $(cat stderr)"; sleep .05; done
kill -TERM $!
wait $! 2>/dev/null
status=$?
[ "$status" = 143 ] && grep -q "there is no second" stderr || fail "SIGTERM: $status $(cat stderr)"

# Two runs that are not alike are told of.
run prof run --true ./program once
[ "$status" = 0 ] && grep -qF "the first run ended with status 0, the second ended with status 3" stderr &&
  grep -qE "1 function has samples in the first run but no calls in the second \(other_way: [0-9]+ samples\)" stderr ||
  fail "once: $status $(cat stderr)"
run prof run --true --check ./program process
grep -qF "the two runs differ in what they wrote to standard error" stderr && grep -qE '^process [0-9]+$' stderr ||
  fail "--check: $(cat stderr)"

# Both read the same input: from a pipe, from a file where it stands, from one that says nothing. Output is the first run's.
seq 60000 >numbers
cat numbers | prof run --true --check ./program read >stdout 2>stderr || fail "pipe: $(cat stderr)"
cmp -s numbers stdout && has_row "$(stat -c %s numbers)" byte stderr && ! grep -q differ stderr || fail "pipe: $(cat stderr)"
{ read -r line; prof run --true ./program read; } <numbers >stdout 2>stderr || fail "file: $(cat stderr)"
tail -n +2 numbers | cmp -s - stdout && has_row $(($(stat -c %s numbers) - 2)) byte stderr || fail "file: $(cat stderr)"
mkfifo silent
prof run --true ./program exit 5 <>silent >stdout 2>stderr
[ $? = 5 ] || fail "silent: $(cat stderr)"
cat numbers | prof run --true --check ./program read 2>stderr | head -n 1 >stdout
[ "$(cat stdout)" = 1 ] && grep -qE "\sbyte$" stderr || fail "a reader that goes: $(cat stderr)"

# Options that do not go together.
for options in "--true --auto" "--true -t" "--check"; do
  # shellcheck disable=SC2086 # a list of words
  run prof run $options ./program exit 0
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] || fail "$options: $status $(cat stderr)"
done

# Files of samples that are damaged, or of something else, are one line.
rm -f prof.*
run prof run --true ./program exit 0
profile=$(tail -n 1 stderr | grep -oE '[^ ]*$')
refused() {
  run prof --true "$1" "$profile"
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] && grep -qF "$2" stderr || fail "$1: $status $(cat stderr)"
}
refused none "No such file"
refused program.c "is no file of samples"
refused "$profile" "is no file of samples"
refused . "is no file of samples"
run prof prof.samples
[ "$status" = 1 ] && grep -qF "prof --true prof.samples" stderr || fail "without --true: $status $(cat stderr)"
head -c 300 prof.samples >cut
refused cut "cut off"
jq -c .version=7 prof.samples >version
refused version "version"
while read -r change; do
  jq -c "$change" prof.samples >damaged
  refused damaged "is damaged: "
done <<'CHANGES'
.period_ns=0
.period_ns="x"
.period_ns=1e30
.user_samples+=1
.modules=3
.modules+=[1]
.modules+=[{"path":"x","build_id":"","addresses":[[1]]}]
.modules+=[{"path":"x","build_id":"","addresses":[[-1,1]]}]
.modules+=[{"path":"x","build_id":"","addresses":[[1,18446744073709551615]]}]
.threads[0].process=5000000000
.arguments=[1]
.samples_at_once=0
del(.program)
CHANGES
compile other program.c -O2 -L. -llibrary "-Wl,-rpath,$PWD"
jq -c --arg p "$PWD/other" '.program=$p | .modules=[] | .user_samples=0' prof.samples >another
refused another "is of another program than the profile"

# Where perf events are not allowed, a copy without hooks samples itself.
compile without "$programs/without_perf_events.c"
rm -f prof.*
run ./without prof run --true --check ./program work
[ "$status" = 0 ] && [ ! -s stdout ] && grep -q "perf events are not allowed, so its first run is one of a copy" stderr &&
  ! grep -q differ stderr || fail "itself: $status $(cat stderr)"
has_row 1000 'less' stderr && has_row 3000 'more' stderr && has_row - 'library_work \[liblibrary.so\]' stderr &&
  has_row - "#$hidden \[liblibrary.so\]" stderr || fail "itself: $(cat stderr)"
[ "$(ls -d prof.* | sort | sed 's/[0-9][0-9]*$/N/' | paste -sd ' ')" = "prof.N prof.samples" ] || fail "itself: leaves $(ls -d prof.*)"
prof --json --true prof.samples prof.[0-9]* >json 2>stderr || fail "itself, --json: $(cat stderr)"
jq -e 'def f(n): .functions[] | select(.name == n); .type == "true" and .sample_period_ns == 4000000 and
  f("more").samples > 2 and f("more").samples > f("less").samples and f("library_work").samples > 2' json >/dev/null || fail "itself: $(cat json)"
jq -e --arg program "$PWD/program" '.program == $program and any(.modules[]; .path == $program) and
  ((.user_samples + .kernel_samples) * .period_ns / (.user_time_ns + .system_time_ns) | . > 0.5 and . < 1.5)' prof.samples >/dev/null ||
  fail "itself: $(head -n 3 prof.samples)"
rm -f prof.*
run ./without prof run --true ./program family
has_row 2900 'more' stderr || fail "itself, family: $(cat stderr)"
jq -e '[.threads[] | select(.user_samples > 0)] | length >= 2 and (map(.process) | unique | length) == 2' prof.samples >/dev/null ||
  fail "itself, family: $(cat prof.samples)"
run ./without prof run --true ./program exit 37
[ "$status" = 37 ] || fail "itself, exit 37: $status $(cat stderr)"
{ (exec ./without prof run --true ./program kill 9 >stdout 2>stderr); } 2>/dev/null
[ $? = 137 ] && has_row 1 'main' stderr || fail "itself, kill: $(cat stderr)"

# What such a copy leaves has no calls to show, but times, and a histogram for gprof.
rm -f prof.*
profld --no-hooks --libprof "$BUILD/lib/libprof-sampler.so" -o program.sampling program || fail "no copy"
PROFDIR=alone ./program.sampling work 1000
run prof alone
[ "$status" = 0 ] && has_row - 'more' stdout && grep -q 'no hooks, times from samples' stdout || fail "addresses: $status $(cat stdout stderr)"
run prof -g gmon.out alone
[ "$status" = 0 ] && gprof -b -p program gmon.out 2>&1 | grep -q ' more' || fail "addresses: $(cat stderr) $(gprof -b -p program gmon.out)"
[ "$(prof --json alone | jq -r '.type, ([.histogram[].samples] | add > 0)' | paste -sd ' ')" = "addresses true" ] || fail "addresses: $(prof --json alone | head -c 500)"

# A static program cannot: that is said before it is run.
compile static.program program.c library.c -O1 -static
run ./without prof run --true ./static.program process
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q "perf_event_paranoid=2" stderr || fail "refused: $status $(cat stderr)"
