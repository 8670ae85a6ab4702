# prof --latency: percentiles of a function's durations are those that the program measured of itself; each call that has
# ended is among them, however it ended.
. "${0%/*}/../common.inc"

# Within a bucket's width and 2 us of what was measured from within and from around, by the nearest rank.
compile server "$programs/latency.c" -O1
rewrite server
profiled_durations() {
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles "$@" >printed 2>stderr || fail "$*: status $? $(cat stderr)"
  [ ! -s stderr ] || fail "$* says $(head -n 2 stderr)"
}
for way in elapsed cpu ""; do
  [ -z "$way" ] || export PROFTYPE=$way
  profiled_durations ./server.prof 4000
  unset PROFTYPE
  prof --json server.prof profiles/prof.* >json 2>prof.log || fail "prof --json: $(cat prof.log)"
  jq -r '.tsc_hz as $hz | .functions[] | select(.name == "handle" or .name == "audit") | .name as $n | .durations |
    "found \($n) calls \(.calls)", "found \($n) 0 \(.least_cycles / $hz * 1e9)", "found \($n) 1 \(.greatest_cycles / $hz * 1e9)",
    "found \($n) 0.5 \(.p50_cycles / $hz * 1e9)", "found \($n) 0.9 \(.p90_cycles / $hz * 1e9)",
    "found \($n) 0.99 \(.p99_cycles / $hz * 1e9)", "found \($n) 0.999 \(.p999_cycles / $hz * 1e9)"' json >found
  for name in handle audit; do
    grep "^$name " printed | cut -d ' ' -f 2 | sort -n >within
    grep "^$name " printed | cut -d ' ' -f 3 | sort -n >around
    grep "^found $name " found | awk -v what="PROFTYPE=$way $name" '
      function at(numbers, n, part) { i = int(part * n); if (i < part * n || i == 0) ++i; return numbers[i] }
      FILENAME == "within" { low[++n] = $1; next }
      FILENAME == "around" { high[++m] = $1; next }
      $3 == "calls" { ++seen; if ($4 != n) { print what ": " $4 " calls, not " n; exit } next }
      {
        ++seen
        least = at(low, n, $3) * 15 / 16 - 2000; most = at(high, n, $3) * 17 / 16 + 2000
        if ($4 < least || $4 > most) { print what ": " $3 " is " $4 " ns, not " least " to " most; exit }
      }
      END { if (seen != 7) print what ": " seen " figures" }' within around - >wrong
    [ ! -s wrong ] || fail "$(cat wrong)"
  done
done

# What ends otherwise than by a return: tail calls, exceptions, recursion that is folded, threads. All calls of a program that has
# ended are counted.
all_ended() { # PROGRAM FUNCTION...
  local program=$1
  shift
  prof --json -w "$program.prof" "$program.profiles"/prof.* >json 2>prof.log || fail "prof --json $program: $(cat prof.log)"
  jq -r '.functions[] | select(.durations.calls > .calls) | "\(.name) has \(.durations.calls) durations of \(.calls) calls"' json >wrong
  [ ! -s wrong ] || fail "$program: $(head -n 3 wrong)"
  for function; do
    jq -r --arg f "$function" '.functions[] | select(.raw_name == $f or .name == $f) | "\(.calls) \(.durations.calls // 0)"' json >counts
    awk '$1 != $2 || $1 == 0 { exit 1 } END { exit NR == 0 }' counts || fail "$program: $function has calls and durations $(cat counts)"
  done
}
for source in tail_calls.c exceptions.cc recursion.c threads.c; do
  program=${source%.*}
  compile "$program" "$programs/$source" -O2
  rewrite "$program"
  profiled "$program"
  # All of its own functions.
  nm "$program" | awk '$2 == "t" || $2 == "T" { print $3 }' | sort -u >own
  prof --json -w "$program.prof" "$program.profiles"/prof.* 2>/dev/null | jq -r '.functions[] | select(.calls > 0 and (.imported | not)) | .raw_name' | sort -u | comm -12 - own >called
  [ "$(wc -l <called)" -gt 3 ] || fail "$program calls only $(paste -sd ' ' called)"
  # shellcheck disable=SC2046 # a list of words
  all_ended "$program" $(cat called)
done

# A function that was jumped to lasts as long as one that was called, also where the runtime had to find out where the jump leads.
cat >jumps.c <<'SOURCE'
#define KEPT __attribute__((noipa))
volatile unsigned long sink;
static inline __attribute__((always_inline)) void work(int n) {
  unsigned long x = n;
  for (int i = 0; i < n; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  sink = x;
}
KEPT void called(int n) { work(n); }
KEPT void jumped_to(int n) { work(n); }
KEPT void sought(int n) { work(n); }
KEPT void calls(int n) { called(n); sink = 1; }
KEPT void jumps(int n) { jumped_to(n); }
void (*volatile pointer)(int) = sought;
KEPT void jumps_through(int n) { pointer(n); }
int main(void) {
  for (int i = 0; i < 20000; ++i) calls(200), jumps(200), jumps_through(200);
}
SOURCE
compile jumps jumps.c -O2
rewrite jumps
for way in time elapsed; do
  PROFTYPE=$way profiled jumps
  prof --json jumps.prof jumps.profiles/prof.* 2>/dev/null | jq -r '.functions[] | "\(.name) \(.durations.p50_cycles)"' |
    awk '{ p50[$1] = $2 } END { exit !(p50["jumped_to"] > p50["called"] * 0.75 && p50["sought"] > p50["called"] * 0.75) }' ||
    fail "$way: functions that were jumped to: $(prof --latency jumps.prof jumps.profiles/prof.* 2>&1)"
done

# A library that is loaded where another one was has durations of its own, in whichever thread.
cat >plugins.c <<'SOURCE'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void* library;
__attribute__((noipa)) static void* call(void* name) {
  void (*f)(void) = (void (*)(void))dlsym(library, name);
  for (int i = 0; i < 100; ++i) f();
  return 0;
}
__attribute__((noipa)) static void* call_nothing(void* p) { return p; }
static void in_thread(void* (*f)(void*), void* argument) {
  pthread_t thread;
  pthread_create(&thread, 0, f, argument);
  pthread_join(thread, 0);
}
int main(int argc, char** argv) {
  library = dlopen(argv[1], RTLD_NOW);
  void* base = *(void**)library;
  in_thread(call, "slow");
  in_thread(call_nothing, 0);  // has the state of the thread before, and calls nothing of the library
  dlclose(library);
  library = dlopen(argv[2], RTLD_NOW);
  puts(*(void**)library == base ? "the same place" : "another place");
  in_thread(call, "quick");
  return argc != 3;
}
SOURCE
echo 'volatile long s; void slow(void) { for (int i = 0; i < 100000; ++i) s += i; }' >slow.c
echo 'volatile long s; void quick(void) { for (int i = 0; i < 300; ++i) s += i; }' >quick.c
compile plugins plugins.c -O1
rewrite plugins
for plugin in slow quick; do
  compile "$plugin.so" "$plugin.c" -O1 -shared -fPIC
  profld -o "$plugin.prof.so" "$plugin.so" 2>profld.log || fail "profld $plugin.so: $(cat profld.log)"
done
mkdir loaded
PROFDIR=loaded run ./plugins.prof ./slow.prof.so ./quick.prof.so
[ "$(cat stdout)" = "the same place" ] || fail "the second library: $(cat stdout stderr)"
prof --json plugins.prof loaded/prof.* 2>prof.log | jq -r '.functions[] | select(.name == "slow" or .name == "quick") | "\(.name) \(.calls) \(.durations.calls)"' | sort >found
[ "$(paste -sd ' ' found)" = "quick 100 100 slow 100 100" ] || fail "a library where another one was: $(paste -sd ' ' found)"

# What finds no room is told.
mkdir small
PROFSIZE=12 PROFDIR=small ./jumps.prof || fail "PROFSIZE=12"
run prof --latency jumps.prof small/prof.*
grep -q ' found no room, so percentiles lack them; run it with a larger PROFSIZE' stderr || fail "PROFSIZE=12: $(cat stderr stdout)"

# The view.
prof --latency server.prof profiles/prof.* >view 2>prof.log || fail "prof --latency: $(cat prof.log)"
awk '$NF == "Name" { found = $1 " " $2 " " $3 " " $4 " " $5 " " $6 " " $7 } END { exit found != "Calls Min p50 p90 p99 p99.9 Max" }' view ||
  fail "prof --latency: $(head -n 5 view)"
# Any other may have lost its processor for longer than audit takes.
[ "$(awk -F '\t' '$2 ~ /^(main|handle|audit)$/ { print $2 }' view | paste -sd ' ')" = "main handle audit" ] || fail "not the longest first: $(cat view)"
prof --latency --sort calls -n 1 --no-header server.prof profiles/prof.* >view 2>prof.log || fail "prof --latency --sort: $(cat prof.log)"
grep -q clock_gettime view || fail "not the most called first: $(cat view)"
run prof run --latency --type count ./server 1
[ "$status" = 2 ] && grep -q "latency goes with --type time, elapsed and cpu, not count" stderr || fail "prof run --latency --type count: $status $(cat stderr)"
run prof --sort p99 server.prof profiles/prof.*
[ "$status" = 2 ] && grep -q 'sort p99 goes with --latency' stderr || fail "--sort p99 without --latency: $status $(cat stderr)"
PROFTYPE=count PROFDIR=counted; export PROFTYPE PROFDIR
mkdir counted
run ./server.prof 1
unset PROFTYPE PROFDIR
run prof --latency server.prof counted/prof.*
[ "$status" = 1 ] && grep -q 'has no durations of calls; prof run --latency takes them' stderr || fail "PROFTYPE=count: $status $(cat stderr)"

# One command.
run prof run --latency --dir run ./server 2000
[ "$status" = 0 ] || fail "prof run --latency: $status $(cat stderr)"
grep -q 'p99.9 *Max' stderr && grep -q 'handle$' stderr || fail "prof run --latency: $(cat stderr)"

# What changed between two runs: ten times as long each, but for the slow ones. Other load makes that four to twenty-five.
mkdir slower
PROFDIR=slower ./server.prof 4000 10 >/dev/null || fail "the slower server"
prof diff --latency --sort p50 server.prof profiles/prof.* server.prof slower/prof.* >view 2>prof.log || fail "prof diff --latency: $(cat prof.log)"
awk -F '\t' '$2 == "handle" { n = split($1, f, " "); found = f[1] == 4000 && f[2] ~ /^~?[0-9.]+[mu]s->[0-9.]+[mu]s$/ && f[3] ~ /^\+[0-9.]+%$/ } END { exit !found }' view ||
  fail "prof diff --latency: $(cat view)"
# One call says nothing of others.
awk -F '\t' '$2 == "main" { found = $1 ~ /^ *1  *~/ } END { exit !found }' view || fail "prof diff --latency: main $(cat view)"
prof diff --json server.prof profiles/prof.* server.prof slower/prof.* >json 2>prof.log || fail "prof diff --json: $(cat prof.log)"
jq -e '.functions[] | select(.name == "handle") | .durations | .calls_a == 4000 and .calls_b == 4000 and
  .p50_seconds.b > 4 * .p50_seconds.a and .p50_seconds.b < 25 * .p50_seconds.a and .greatest_seconds.known == false' json >said || fail "prof diff --json: $(jq -c '.functions[] | .durations' json)"
run prof diff --sort p99 server.prof profiles/prof.* slower/prof.*
[ "$status" = 2 ] && grep -q 'go with --latency' stderr || fail "prof diff --sort p99: $status $(cat stderr)"
run prof diff --latency server.prof counted/prof.* counted/prof.*
[ "$status" = 1 ] && grep -q 'no function has durations of calls on both sides' stderr || fail "prof diff --latency of counts: $status $(cat stderr)"

# Recording that was limited has none: they are of all of a run.
sleep_server() { PROFDIR=limited PROFSTART=off ./server.prof 4000 >/dev/null 2>stderr; }
mkdir limited
sleep_server || fail "PROFSTART=off: $(cat stderr)"
run prof --latency server.prof limited/prof.*
[ "$status" = 1 ] && grep -q 'prof ctl limited what is recorded' stderr || fail "limited: $status $(cat stderr)"
