# Elapsed time beside time on a processor: a function that sleeps and polls, and one that computes and waits for a processor
# as long as the machine is busy with something else. They measure themselves by the kernel's clocks, from within and from
# around each call: prof's figures lie between the two.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
#define INLINE static inline __attribute__((always_inline))
INLINE double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
struct moment {
  double real, cpu;
};
INLINE struct moment moment(void) { return (struct moment){now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID)}; }
struct took {
  struct moment within, around;
} nap_took, work_took;
INLINE void add(struct moment* sum, struct moment begin) {
  const struct moment end = moment();
  sum->real += end.real - begin.real;
  sum->cpu += end.cpu - begin.cpu;
}
KEPT void nap(void) {
  const struct moment begin = moment();
  usleep(10000);
  poll(NULL, 0, 10);
  add(&nap_took.within, begin);
}
KEPT void work(void) {
  const struct moment begin = moment();
  while (now(CLOCK_THREAD_CPUTIME_ID) < begin.cpu + 0.02) {
  }
  add(&work_took.within, begin);
}
INLINE void watched(void (*function)(void), struct took* took) {
  const struct moment begin = moment();
  function();
  add(&took->around, begin);
}
KEPT void both(void) {
  for (int i = 0; i < 10; ++i) watched(nap, &nap_took), watched(work, &work_took);
}
KEPT int third(int x) { return x * 1000003 + 1; }
static void say(const char* name, struct took t) {
  printf("%s %f %f %f %f\n", name, t.within.real, t.around.real, t.within.cpu, t.around.cpu);
}
int main(int argc, char **argv) {
  both();
  for (int i = 0; i < 10; ++i) watched(work, &work_took);
  for (int i = 1; i < argc; ++i) third(i);
  say("nap", nap_took);
  say("work", work_took);
}
C
compile program program.c -O1
rewrite program --no-imports # it asks for the time as often as it can
# record TYPE PROFILE [ARGUMENT...]: a run's profile, and its output in stdout.
record() {
  local profile=$2
  rm -rf profiles
  mkdir profiles
  local before
  before=$(stolen)
  PROFTYPE=$1 PROFDIR=profiles run ./program.prof "${@:3}"
  stolen_since "$before" >"stolen.$1"
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "PROFTYPE=$1: status $status, says $(cat stderr)"
  mv profiles/prof.* "$profile"
}

record cpu on_cpu
cp stdout said.cpu
record elapsed elapsed
cp stdout said.elapsed

# low TYPE FUNCTION FIELD, high TYPE FUNCTION FIELD: what the function says that it took at least and at most, in the run of
# that PROFTYPE; with some room for rounding, and for what the rate of a clock may be wrong by.
low() { awk -v name="$2" -v n="$3" -v stolen="$(cat "stolen.$1")" '$1 == name { print $n * 0.98 - 0.002 - stolen }' "said.$1"; }
high() { awk -v name="$2" -v n="$3" -v stolen="$(cat "stolen.$1")" '$1 == name { print $(n + 1) * 1.02 + 0.002 + stolen }' "said.$1"; }

# took TITLE FUNCTION: seconds, from the table.
took() { in_seconds "$(column "$1" "$2")"; }
is() { awk "BEGIN { exit !($1) }" || fail "not $1: $(cat stdout)"; }
for arguments in "program.prof elapsed on_cpu" "on_cpu elapsed"; do
  # shellcheck disable=SC2086
  run prof $arguments
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "prof $arguments: $status $(cat stderr)"
  sed -n 3p stdout | grep -qP '^ +% +Elapsed +CPU +Waiting +Total +Calls +Per-call\tName$' || fail "header: $(sed -n 3p stdout)"
  [ "$(column Calls nap) $(column Calls work) $(column Calls main)" = "10 20 1" ] || fail "calls: $(cat stdout)"
  for function in nap work; do
    is "$(took Elapsed $function) >= $(low elapsed $function 2) && $(took Elapsed $function) <= $(high elapsed $function 2)"
    is "$(took CPU $function) >= $(low cpu $function 4) && $(took CPU $function) <= $(high cpu $function 4)"
  done
  is "$(took Elapsed nap) >= 0.19 && $(took CPU work) >= 0.38"
  # What it waits is the one less the other, each with three digits.
  for function in nap work; do
    case "$(column Elapsed $function)$(column CPU $function)$(column Waiting $function)" in *-*) continue ;; esac
    error="0.01 + 0.01 * $(took Elapsed $function)"
    is "$(took Waiting $function) - ($(took Elapsed $function) - $(took CPU $function)) < $error"
    is "$(took Waiting $function) - ($(took Elapsed $function) - $(took CPU $function)) > -($error)"
  done
done

run prof -d program.prof elapsed on_cpu
[ "$status" = 0 ] && [ ! -s stderr ] || fail "-d: $status $(cat stderr)"
grep -vqE '^[. 	]*[_a-z]+:[-0-9.]+(/[0-9]+)? waiting [-0-9.]+$' stdout && fail "-d: $(cat stdout)"
milliseconds() { sed -nE "s/^[. 	]*$1:.* waiting ([0-9.]+).*/\\1/p" stdout | head -n 1; }  # the lower end of a range
is "$(milliseconds nap) >= 150 && $(milliseconds both) >= 150 && $(milliseconds main) >= 150"
prof --json program.prof elapsed on_cpu >both.json || fail "--json"
jq -e '.type == "waiting" and .complete and .tsc_hz as $hz |
  [.functions[] | select(.name == "nap")][0] as $nap | [.functions[] | select(.name == "work")][0] as $work |
  [.functions[] | select(.name == "both")][0] as $both |
  $nap.calls == 10 and $nap.cpu_calls == 10 and $nap.self_waiting_cycles == $nap.self_cycles - $nap.self_cpu_cycles and
  $nap.self_waiting_cycles >= 0.15 * $hz and $work.self_cpu_cycles >= 0.38 * $hz and
  $both.total_waiting_cycles >= 0.15 * $hz and $both.total_cpu_cycles >= 0.19 * $hz and
  ([.tree[] | select(has("cpu_calls") and has("waiting_cycles") | not)] == [])' both.json >/dev/null || fail "--json: $(cat both.json)"

# More profiles of either type are added up; what was not called alike is told of in one line.
record elapsed more x x x
run prof program.prof elapsed on_cpu more
[ "$status" = 0 ] && [ "$(column Calls nap)" = 20 ] || fail "three profiles: $status $(cat stdout stderr)"
is "$(took Waiting nap) >= 0.35"
[ "$(wc -l <stderr)" = 1 ] && grep -qE '^prof: [0-9]+ functions were not called as often in both runs \([^ ]+ [0-9]+ and [0-9]+ times\): the program did not do the same twice$' stderr ||
  fail "different calls: $(cat stderr)"
run prof program.prof more on_cpu
grep -qx 'prof: 1 function was not called as often in both runs (third 3 and 0 times): the program did not do the same twice' stderr ||
  fail "different calls: $(cat stderr)"
run prof program.prof elapsed more
[ "$status" = 0 ] && [ ! -s stderr ] && [ "$(column Calls nap)" = 20 ] || fail "two of one type: $(cat stdout stderr)"
cp on_cpu on_cpu.2
run prof program.prof on_cpu on_cpu.2
[ "$status" = 0 ] && [ ! -s stderr ] && [ "$(column Calls nap)" = 20 ] || fail "two of one type: $(cat stdout stderr)"
is "$(took Self nap) <= 2 * $(high cpu nap 4) && $(took Self work) >= 0.76"

# What shows one run only says so.
for view in "-g gmon.out" "--gprof-symbols symbols" --suggest -t --processes "-t --json"; do
  # shellcheck disable=SC2086
  run prof $view program.prof elapsed on_cpu
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q ': they have different PROFTYPEs; name profiles of one PROFTYPE$' stderr || fail "$view: $status $(cat stderr)"
  [ ! -e gmon.out ] && [ ! -e symbols ] || fail "$view leaves a file"
done
for type in count adaptive; do
  record $type other
  for first in elapsed on_cpu "elapsed on_cpu"; do
    # shellcheck disable=SC2086
    run prof program.prof $first other
    [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q ': they have different PROFTYPEs; name profiles of one PROFTYPE$' stderr || fail "$first and $type: $status $(cat stderr)"
  done
done
