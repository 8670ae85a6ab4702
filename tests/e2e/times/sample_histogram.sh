# The histogram of PROFTYPE=sample: at which instructions of the original samples found the program. How many samples there are
# depends on the machine; that they add up, and where they are, does not.
. "${0%/*}/../common.inc"

# `wide` has many instructions that take equally long.
cat >program.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "thread_timer.h"
#define KEPT __attribute__((noipa))
volatile unsigned long sum;
KEPT void burn(int until) {
  while (timer_ticks < until)
    for (int i = 0; i < 100000; i++) sum += i;
}
#define TEN(x) x x x x x x x x x x
KEPT void wide(int until) {
  while (timer_ticks < until)
    for (int i = 0; i < 1000; i++) {
      TEN(TEN(sum += i; sum ^= 3;))
    }
}
KEPT static void *work(void *unused) {
  start_thread_timer();
  burn(50);
  return NULL;
}
int main(int argc, char **argv) {
  if (!strcmp(argv[1], "threads")) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
  }
  start_thread_timer();
  if (!strcmp(argv[1], "wide")) wide(100);
  else burn(50);
  return 0;
}
C

burns=$(grep -n '100000; i++' program.c | cut -d : -f 1) # the line of the loop in burn

# shown PROGRAM WHAT [PROFSIZE]: runs it; `all` are the samples of its own code by function, `in_histogram` those by address.
shown() {
  rm -rf profiles
  mkdir profiles
  PROFTYPE=sample PROFSIZE=${3:-4000} PROFDIR=profiles run "./$1.prof" "$2"
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$1 $2: status $status, says $(cat stderr)"
  prof --json "$1.prof" profiles/prof.* >json || fail "$1 $2: prof fails"
  all=$(jq --arg p "$1" '.tsc_hz as $hz | (.sample_period_ns * 1e-9 * $hz) as $one | [.functions[] | select(.module == $p and (.imported | not)) | .self_cycles / $one | round] | add' json)
  in_histogram=$(jq '[.histogram[].samples] | add // 0' json)
  without_room=$(jq .samples_without_room json)
  [ "$all" -ge 20 ] && [ $((in_histogram + without_room)) = "$all" ] ||
    fail "$1 $2: $in_histogram samples by address and $without_room without room, $all by function: $(jq -c .histogram json)"
}

# at_instructions PROGRAM FUNCTION: nearly all samples are in the function, at the start of one of its instructions. (Few may be
# at one that the copy has a hook before, or on the way in.)
at_instructions() {
  objdump -d --no-show-raw-insn "$1" | awk -v f="<$2>:" '$2 == f { inside = 1; next } /^$/ { inside = 0 } inside { sub(":", "", $1); print "0x" $1 }' >starts
  [ -s starts ] || fail "$1: no instructions of $2"
  local at
  at=$(jq -r --arg m "$1" '.histogram[] | select(.module == $m) | "\(.address) \(.samples)"' json |
    awk 'FILENAME == ARGV[1] { start[$1]; next } $1 in start { n += $2 } END { print n + 0 }' starts -)
  [ $((at * 10)) -ge $((in_histogram * 9)) ] || fail "$1: $at of $in_histogram samples at instructions of $2: $(jq -c .histogram json)"
}

for link in pie no-pie; do
  # shellcheck disable=SC2046
  compile "$link" program.c -O1 -g $(link_flags "$link")
  rewrite "$link"
  shown "$link" burn
  [ "$without_room" = 0 ] || fail "$link: no room for $without_room samples"
  at_instructions "$link" burn
  # gprof has the same: seconds by function and by line, in ticks of a sample, and calls.
  run prof -g gmon.out "$link.prof" profiles/prof.*
  [ "$status" = 0 ] || fail "$link: prof -g: $(cat stderr)"
  gprof -b -p "$link" gmon.out >flat 2>said && gprof -b -l -p "$link" gmon.out >by_line 2>>said && gprof -b -q "$link" gmon.out >graph 2>>said
  [ ! -s said ] || fail "$link: gprof says $(cat said)"
  grep -qx 'Each sample counts as 0.004 seconds.' flat || fail "$link: gprof: $(cat flat)"
  awk -v n="$in_histogram" 'NF > 2 && $2 ~ /^[0-9.]+$/ { all = $2; if ($NF == "burn") calls = $4 }
    END { if (all - n * 0.004 > 0.0051 || n * 0.004 - all > 0.0051 || calls != 1) { print all, "s of", n, "samples,", calls, "calls of burn"; exit 1 } }' flat >wrong ||
    fail "$link: gprof: $(cat wrong) $(cat flat)"
  [ "$(grep -oP '\(program\.c:\K[0-9]+(?= @)' by_line | head -n 1 | grep -cx -e "$burns" -e $((burns - 1)))" = 1 ] || fail "$link: gprof -l: $(cat by_line)"
done
shown pie threads
at_instructions pie burn
[ "$(prof -t --json pie.prof profiles/prof.* | jq '[.[].histogram[].samples] | add')" = "$in_histogram" ] || fail "threads: $(prof -t --json pie.prof profiles/prof.*)"
shown pie wide
at_instructions pie wide
[ "$(jq '.histogram | length' json)" -ge 15 ] || fail "wide: $(jq -c .histogram json)"

# Without room for all addresses there are still all samples, and all calls.
shown pie wide 40
[ "$without_room" -gt 0 ] && [ "$in_histogram" -gt 0 ] || fail "few nodes: room for all: $(jq -c .histogram json)"
[ "$(jq '[.functions[] | select(.name == "wide").calls] | add' json)" = 1 ] || fail "few nodes: $(cat json)"
prof pie.prof profiles/prof.* 2>&1 >/dev/null | grep "the addresses of $without_room samples found no room in the profile" >/dev/null ||
  fail "few nodes: prof says $(prof pie.prof profiles/prof.* 2>&1 >/dev/null)"

# The original's addresses are known without the copy, from what prof run appends to a profile.
XDG_CACHE_HOME=$PWD/cache PROFDIR=$PWD prof run --type sample --json --output run.json ./pie burn 2>stderr || fail "prof run: $(cat stderr)"
rm -rf cache
prof --json prof.[0-9]* >json 2>stderr || fail "without the copy: $(cat stderr)"
[ "$(jq -c .histogram json)" = "$(jq -c .histogram run.json)" ] || fail "without the copy: $(jq -c .histogram json run.json)"
in_histogram=$(jq '[.histogram[].samples] | add' json)
at_instructions pie burn
