# PROFSTART and prof ctl: every view shows exactly the calls that were made while recording was on, or since the last
# reset, and the time that went by then. The programs wait for the test to make the change.
. "${0%/*}/../common.inc"
. "${0%/*}/../controlled.inc"

compile program "$programs/controlled.c" -O1
rewrite program --no-imports # the program tells of its own functions

# The program is told these at its points, of which there are eight: on, off, reset, nothing (-). The first word is
# PROFSTART.
scenarios="
on  off   on    off   on    off   on    off   on
on  -     off   -     -     on    -     reset -
on  reset -     off   reset -     on    -     off
on  off   -     on    reset off   on    reset -
on  -     -     -     -     -     -     off   -
off on    -     -     off   on    -     -     reset
off -     on    off   reset on    -     off   on
off reset -     on    reset -     off   -     on
off -     -     -     -     -     -     -     -
off -     -     on    -     -     -     -     -
"
cat >expect.awk <<'AWK'
# The calls, by name, of the parts of the run for which recording was on.
BEGIN { split(commands, command, " "); is_on = command[1] == "on"; part = 1 }
/^calls / { if (is_on) counted[$2] += $3; else counted[$2] += 0 }
/^waiting$/ {
  what = command[++part]
  if (what == "on") is_on = 1
  if (what == "off") is_on = 0
  if (what == "reset") for (name in counted) counted[name] = 0
}
END { for (name in counted) if (counted[name]) printf "%s %d\n", name, counted[name] }
AWK

# scenario TYPE START COMMAND...: runs the program, and leaves its calls while recording was on in `expected`.
scenario() {
  local all="${*:2}"
  : >said
  PROFTYPE=$1 PROFSTART=$2 start program
  shift 2
  while waits; do
    [ "$1" = - ] || ctl "$1" "$path"
    shift
    goes_on
  done
  [ $# = 0 ] || fail "$all: the program made too few stops"
  ends
  awk -v commands="$all" -f expect.awk said | sort >expected
}

# calls_are WHAT: the sums by function are those in `expected`. Functions without calls have only time.
calls_are() {
  prof --json program.prof "$path" >json 2>prof.log && [ ! -s prof.log ] || fail "$1: $(cat prof.log)"
  jq -r '.functions[] | select(.calls > 0) | "\(.name) \(.calls)"' json | sort >found
  cmp -s expected found || fail "$1: $(diff expected found | head -n 6)"
}

for type in $types; do
  while read -r start commands; do
    [ -n "$start" ] && turn || continue
    # shellcheck disable=SC2086 # a list of words
    scenario $type "$start" $commands
    calls_are "$type $start $commands"
    # A context is there because it was called, or ran (which is less than it cost, sometimes), or called one that did.
    jq -e --arg type $type '.lost == 0 and .limited and (([.tree[].parent] as $parents |
        [.tree | to_entries[] | select(.value.calls == 0 and .value.self_cycles == 0) | .key] - $parents == []) or $type != "count")' json >/dev/null ||
      fail "$type $start $commands: lost calls or empty contexts"
    [ -s expected ] || case $commands in *on*) fail "$type $start $commands: nothing is expected" ;; esac
  done <<<"$scenarios"
done

# Every view says the same. Recording is switched on deep in recursion: leaf, 10 times at the bottom, below work in main
# and in two threads. Recursion deeper than 64 calls is folded.
scenario count off - on off - - - - -
calls_are "deep"
prof -dr program.prof "$path" 2>prof.log | sed 's/^[. \t]*//' | uniq -c | sed 's/^ *//' | paste -sd ' ' >contexts
[ "$(cat contexts)" = "1 main:-/0 1 work:-/0 64 down:-/0 1 point:- 1 leaf:-/10 1 work:-/0 64 down:-/0 1 point:-/2 1 leaf:-/20" ] ||
  fail "contexts: $(cat contexts)"
grep -qE "^prof: $path: recording was on for [0-9.]* s of [0-9.]* s, in 1 part$" prof.log || fail "remark: $(cat prof.log)"
prof --no-header program.prof "$path" 2>/dev/null | awk -F'\t' 'NR > 1 { split($1, word, " "); print $2, word[2] }' | sort >found
cmp -s expected found || fail "flat: $(cat found)"
prof -g gmon.out program.prof "$path" 2>prof.log
gprof -bq program gmon.out 2>/dev/null | awk '$1 ~ /^\[/ && $NF == $1 && NF == 7 { print $6, $5 }' | sort >found
cmp -s expected found || fail "gprof: $(cat found)"
prof -t program.prof "$path" 2>/dev/null | awk '/^process/ { n++ } /leaf$/ { calls[n] = $2 } END { print calls[1], calls[2], calls[3] }' >found
[ "$(cat found)" = "10 10 10" ] || fail "threads: $(cat found)"
prof --processes "$path" 2>/dev/null | has_row 30 leaf - || fail "--processes"
[ "$(stat -c %a profiles/ctl.prof.$pid)" = 600 ] && [ "$(echo profiles/*)" = "profiles/ctl.prof.$pid $path" ] || fail "files: $(ls -l profiles)"
(cd profiles && prof prof.* >/dev/null 2>&1) || fail "prof prof.*"

# Without its list, or with one that cannot be right, a profile is not taken for one of the whole run in silence.
list=profiles/ctl.prof.$pid
mv "$list" list
not_limited() {
  for view in "" -d --json -t "-g gmon.out"; do
    # shellcheck disable=SC2086 # words
    run timeout $forever prof $view program.prof "$path"
    [ "$status" = 1 ] && [ "$(grep -c . stderr)" -le 7 ] && grep -qF "prof: $path: prof ctl limited what is recorded, but its list $list $1; all of the run is shown" stderr ||
      fail "prof $view, list $1: $status $(cat stderr)"
  done
  run prof --json program.prof "$path"
  jq -e '.complete == false and any(.functions[]; .name == "leaf" and .calls > 6000)' stdout >/dev/null || fail "list $1: not all of the run"
}
not_limited "is missing"
: >"$list" && not_limited "is cut off"
head -c 100 list >"$list" && not_limited "is cut off"
head -c -1 list >"$list" && not_limited "is cut off"
cp program "$list" && not_limited "was not made by prof ctl"
mkfifo "$list.fifo" && mv "$list.fifo" "$list" && not_limited "is not a regular file"
rm "$list" && ln -s ../list "$list" && not_limited "cannot be read: Too many levels of symbolic links"
rm "$list" && mkdir "$list" && not_limited "is not a regular file"
rmdir "$list" && cp list "$list" && truncate -s 98304000064 "$list"
printf '\xff\xff\xff\xff' | dd of="$list" bs=1 seek=20 conv=notrunc status=none
not_limited "is cut off"
truncate -s 206158430224 "$list" && not_limited "is damaged"
if [ "$(id -u)" = 0 ]; then cp list "$list" && chown 1 "$list" && not_limited "belongs to another user than the profile"; fi
size=$(stat -c %s list)
for ((i = 0; i < size; i += 7)); do
  for byte in '\x00' '\xff'; do
    rm "$list"
    cp list "$list"
    printf "$byte" | dd of="$list" bs=1 seek="$i" conv=notrunc status=none
    timeout $forever prof program.prof "$path" >stdout 2>stderr
    status=$?
    [ "$status" -le 1 ] && [ "$(grep -vc '^prof: ' stderr)" = 0 ] || fail "list with $byte at $i: $status $(cat stderr)"
  done
done
cp list "$list"
calls_are "list put back"

# Time. At each point the program waits for as long as the test likes, within a function that was called before.
cat >waiter.c <<'C'
#include <stdio.h>
__attribute__((noipa)) static int point(void) {
  puts("waiting");
  fflush(stdout);
  return getchar();
}
int main(void) {
  for (int i = 0; i < 4; i++)
    if (point() == EOF) return 1;
  puts("done");
}
C
compile waiter waiter.c -O1
rewrite waiter --no-imports # the time that point waits is its own
# times_are TEXT EXPRESSION: of the self seconds, with what was waited, p of point and m of main, the recorded r, the calls c of point; and the
# seconds e since $EPOCHREALTIME was put into $since.
since=$EPOCHREALTIME
times_are() {
  prof --json waiter.prof "$path" >json 2>prof.log || fail "$1: $(cat prof.log)"
  jq -r '. as $all | def f($n): (([.functions[] | select(.name == $n)] | first) // {self_cycles: 0, calls: 0});
    def time: .self_cycles + (.self_waiting_cycles // 0);
    "\(f("point") | time / $all.tsc_hz) \(f("main") | time / $all.tsc_hz) \(.recorded_cycles / .tsc_hz) \(f("point").calls)"' json >times
  awk -v since="$since" -v now="$EPOCHREALTIME" "{ p = \$1; m = \$2; r = \$3; c = \$4; e = now - since; exit !($2) }" times ||
    fail "$1: point, main, recorded, calls: $(cat times); since $since it is $EPOCHREALTIME"
}
start waiter
waits
sleep 0.2
ctl off "$path"
times_are "off" "p > 0.19 && c == 1 && p + m <= r && r < e"
jq -c '[.functions, .tree, .recorded_cycles]' json >before
sleep 0.5
times_are "still off" "1"
jq -c '[.functions, .tree, .recorded_cycles]' json | cmp -s - before || fail "off: what is shown went on changing: $(cat before json)"
goes_on
waits
ctl on "$path"
sleep 0.5
goes_on # out of a function that was called while recording was off
waits
times_are "on again" "p > 0.68 && p + m <= r && r < e - 0.5 && c == 2"
since=$EPOCHREALTIME
ctl reset "$path"
times_are "reset" "c == 0 && p + m <= r && r < e"
sleep 0.5
goes_on
waits
times_are "after reset" "p > 0.49 && c == 1 && p + m <= r && r < e"
ctl off "$path"
prof ctl status "$path" >status || fail "status"
grep -qE '^off: [0-9]+\.[0-9]{3} s of [0-9]+\.[0-9]{3} s are recorded, in 1 part$' status || fail "status: $(cat status)"
goes_on
ends
times_are "at the end" "p > 0.49 && c == 1 && p + m <= r && r < e"

# A kill while recording is on, and while it is off; a program that makes one call over and over.
compile endless "$programs/endless.c" -O1
rewrite endless
calls() { prof --json endless.prof "$path" 2>/dev/null | jq '[.functions[] | select(.name == "round_of").calls] | add // 0'; }
for type in $types; do
  PROFTYPE=$type start endless
  read -r _ <&"$from"
  cat <&"$from" >/dev/null &
  ctl off "$path"
  before=$(calls)
  [ "$before" -gt 1000 ] || fail "$type: $before calls"
  run prof ctl off "$path"
  [ "$status" = 0 ] && [ "$(cat stderr)" = "prof: $path: recording is off already" ] || fail "off twice: $status $(cat stderr)"
  [ "$(calls)" = "$before" ] || fail "$type: when off, $before calls became $(calls)"
  run prof top -n 1 -i 0.1 "$path"
  [ "$(head -n 1 stdout)" = "0.0 million calls a second, in 0 functions; recording is off" ] && [ "$(wc -l <stdout)" = 2 ] || fail "top: $(cat stdout stderr)"
  ctl on "$path"
  run prof ctl on "$path"
  [ "$status" = 0 ] && [ "$(cat stderr)" = "prof: $path: recording is on already" ] || fail "on twice: $status $(cat stderr)"
  while [ "$(calls)" -le "$before" ]; do :; done
  ctl reset "$path"
  reset=$(calls)
  while [ "$(calls)" -le "$reset" ]; do :; done
  ctl off "$path"
  off=$(calls)
  [ $type = elapsed ] || ctl on "$path"
  kill -KILL "$pid"
  { wait "$pid"; } 2>/dev/null
  trap - EXIT
  exec {to}>&- {from}<&-
  case $type in
    elapsed) [ "$(calls)" = "$off" ] || fail "killed while off: $off calls became $(calls)" ;;
    *) [ "$(calls)" -ge "$off" ] || fail "killed while on: $off calls became $(calls)" ;;
  esac
done
for command in on off reset; do
  run prof ctl $command "$path"
  [ "$status" = 1 ] && [ "$(cat stderr)" = "prof: $path: the program has ended; what it recorded cannot be changed any more" ] || fail "ended: $status $(cat stderr)"
done
run prof ctl status "$path"
[ "$status" = 0 ] && grep -q "; the program has ended$" stdout || fail "status after the end: $status $(cat stdout stderr)"

# Threads that call all the time, interrupted by handlers that do: what a thread has used while recording was on is
# that time, but for what went by while prof ctl read the profile: at most as long as it ran.
cat >busy.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define KEPT __attribute__((noipa))
static volatile int ends;
static volatile unsigned sum;
KEPT static void leaf(void) { sum++; }
KEPT static void twice(void) { leaf(); leaf(); }
KEPT static void deep(int n) { if (n) deep(n - 1); else twice(); }
KEPT static void handle(int signal) { (void)signal; twice(); }
KEPT static void* work(void* unused) {
  while (!ends) { leaf(); twice(); deep(5); }
  return unused;
}
int main(void) {
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  const struct itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
  puts("waiting");
  fflush(stdout);
  getchar();
  ends = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  puts("done");
}
C
compile busy busy.c -O1
rewrite busy
start busy
waits
reading=0
timed_ctl() {
  local start=$EPOCHREALTIME
  ctl "$@"
  reading=$(awk -v sum="$reading" -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { print sum + end - start }')
}
for command in off on off on reset off on; do
  sleep 0.1
  timed_ctl $command "$path"
done
sleep 0.3
timed_ctl off "$path"
goes_on
ends
prof -R -t --json busy.prof "$path" 2>/dev/null | jq -r '.[] | "\(.recorded_cycles / .tsc_hz) \([.functions[] | .self_cycles + (.self_waiting_cycles // 0)] | add / 1) \(.tsc_hz)"' >times
awk -v reading="$reading" '{ used = $2 / $3; if (used < $1 - reading || used > $1 + reading || $1 < 0.3) wrong = 1 } END { exit wrong || NR != 4 }' times ||
  fail "busy threads: recorded, used, rate: $(cat times); reading took $reading s"

# The list that an earlier process with the same number left does not matter; nor does that of another one do for ours.
mv "profiles/ctl.prof.$pid" old
start waiter
waits
cp old "profiles/ctl.prof.$pid"
times_are "list of an earlier process" "c == 1"
ctl off "$path"
goes_on
waits
times_are "list made anew" "c == 1"
mv "profiles/ctl.prof.$pid" list
cp old "profiles/ctl.prof.$pid"
run prof waiter.prof "$path"
[ "$status" = 1 ] && grep -q "ctl.prof.$pid is that of another process; all of the run is shown$" stderr || fail "list of another: $(cat stderr)"
run prof ctl on "$path"
[ "$status" = 1 ] && grep -q "is that of another process; prof ctl reset begins anew$" stderr || fail "ctl, list of another: $(cat stderr)"
cp list "profiles/ctl.prof.$pid"
ctl on "$path"
cp list "profiles/ctl.prof.$pid"
run prof waiter.prof "$path"
[ "$status" = 1 ] && grep -q "ctl.prof.$pid is older than the last change; all of the run is shown$" stderr || fail "old list: $(cat stderr)"
ctl reset "$path"
times_are "reset without a list" "c == 0"
# One change after the other.
exec {lock}<"$path"
flock "$lock"
prof ctl off "$path" 2>ctl.log &
changing=$!
until grep -qE -- "-> FLOCK .* $changing " /proc/locks; do
  kill -0 $changing 2>/dev/null || fail "ctl waits for no other: $(cat ctl.log)"
done
times_are "before the change" "1"
jq -e '.recorded_cycles > 0' json >/dev/null || fail "changed in spite of the lock"
flock -u "$lock"
wait $changing || fail "ctl after another: $(cat ctl.log)"
run prof ctl off "$path"
grep -q 'off already$' stderr || fail "ctl after another: $(cat stderr)"
ctl on "$path"
if [ "$(id -u)" = 0 ]; then
  chown 1 "$path" "profiles/ctl.prof.$pid"
  ctl off "$path"
  [ "$(stat -c %u "profiles/ctl.prof.$pid")" = 1 ] || fail "the list is not its user's"
fi
run prof ctl off "$pid"
[ "$status" = 0 ] && grep -q "/profiles/prof.$pid: .*off already$" stderr || fail "elsewhere: $(cat stderr)"
PROFDIR=profiles run prof ctl status "$pid"
[ "$status" = 0 ] || fail "in PROFDIR: $(cat stderr)"
ln -s "prof.$pid" profiles/link
run prof ctl on profiles/link
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] || fail "link: $status $(cat stderr)"
goes_on
waits
goes_on
waits
goes_on
ends

# What it says.
says() {
  local expected_status=$1 expected=$2
  shift 2
  run prof ctl "$@"
  [ "$status" = "$expected_status" ] && [ "$(cat stderr)" = "prof: $expected" ] || fail "ctl $*: $status $(cat stderr)"
}
says 1 "no profile of process 1 in the current directory or \$PROFDIR" on 1
says 1 "there is no process 4194304, and no profile of it in the current directory or \$PROFDIR" on 4194304
says 1 "endless: is not a profile; programs rewritten by profld leave them as prof.<pid>" off endless
says 1 "nothing: No such file or directory" off nothing
for wrong in "" "up 1" "1"; do
  # shellcheck disable=SC2086 # a list of words
  says 2 "ctl: say what to do; prof ctl on|off|reset|status PID" $wrong
done
says 2 "ctl: name one process or profile; prof ctl on PID" on
says 2 "ctl: name one process or profile; prof ctl off PID" off 1 2
exit 0
