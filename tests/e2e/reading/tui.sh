# prof tui, in tmux: the table, the tree, callers and callees, and source have the lines that prof prints; each key of its help
# does what the help says; on terminals of all sizes and kinds; of a program that runs; and the terminal is as it was before,
# however it ends.
. "${0%/*}/../common.inc"
. "${0%/*}/../terminal.inc"

TMUX_TMPDIR=$(mktemp -d) || fail "no folder for tmux"
export TMUX_TMPDIR
unset TMUX COLUMNS tabstop
servers=0 pid=
end() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
  for ((n = 1; n <= servers; n++)); do tmux -L "tui$n" kill-server 2>/dev/null; done
  rm -rf "$TMUX_TMPDIR"
}
trap end EXIT

in_tmux() { tmux -L "tui$servers" -f /dev/null "$@"; }
screen() { in_tmux capture-pane -p; }

# until_so WHAT COMMAND...: waits until a command succeeds. The limit is for a machine that stands still.
until_so() {
  local what=$1 end=$((SECONDS + 120))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "$what is not so: $(screen 2>&1) $(head -n 5 difference)"
    sleep 0.1
  done
}
on_screen() { screen >shown && grep -qP -- "$1" shown; }
# shows REGEX: waits until a line of the screen matches.
shows() { until_so "$1" on_screen "$1"; }
# last_line REGEX: waits until the last line of the screen, all of it, matches.
is_last_line() { screen >shown && tail -n 1 shown | grep -qxP -- "$1 *"; }
last_line() { until_so "the last line $1" is_last_line "$1"; }

# start COLUMNS ROWS COMMAND...: runs it in a terminal, a shell of which writes the exit status to the file status, the command's
# number to the file number, and what the terminal is set to before and after it.
start() {
  local columns=$1 rows=$2
  shift 2
  rm -f status number before after
  ((++servers))
  in_tmux new-session -d -x "$columns" -y "$rows" "trap : INT; stty -g >before; sh -c 'echo \$\$ >number; exec \"\$@\"' sh $(printf '%q ' "$@") 2>said
    echo \$? >written; stty -g >after; mv written status; exec cat" || fail "no tmux"
}
# ended STATUS: waits for the command's end. The terminal must be as it was.
has_ended() { [ -s status ]; }
ended() {
  until_so "the end" has_ended
  [ "$(cat status)" = "$1" ] || fail "status $(cat status), not $1: $(cat said)"
  cmp -s before after || fail "the terminal was $(cat before), and is $(cat after)"
  [ "$(in_tmux display-message -p '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}')" = "0 1 0" ] || fail "the terminal's modes"
}

# press KEY...: by tmux's names; each of them is noted.
: >pressed >difference
press() {
  printf '%s\n' "$@" >>pressed
  in_tmux send-keys "$@"
}
type_text() { in_tmux send-keys -l -- "$1"; }

# printed COLUMNS COMMAND...: what a command prints on a terminal, with blanks for tabs and without remarks, in the file wanted.
printed() {
  # shellcheck disable=SC2016 # for the other shell
  rows=500 on_terminal "$1" sh -c '"$@" 2>/dev/null' sh "${@:2}"
  expand stdout | sed 's/ *$//' >wanted
}
# same FIRST FILE: the screen, from a line on to the last but one, must be the beginning of a file; the lines of the screen are in
# the file lines. A mark of two columns in front is taken off if there is a third argument.
is_same() {
  screen | sed "1,$(($1 - 1))d; \$d" | sed 's/ *$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | cut -c "${3:-1}-" >lines
  [ -s lines ] && head -n "$(wc -l <lines)" "$2" | diff lines - >difference
}
same() { until_so "the same as in $2" is_same "$@"; }

# Profiles that are made up, with names of all kinds.
compile profiles "$tests/golden/profiles.cc" -std=c++20 -I"$tests/.." -include "$tests/unit/prof_fixture.h"
./profiles || fail "no profiles were made"

# At 80 by 24, first the table. Each line is one of prof's.
start 80 24 prof tui golden prof.100
last_line '1 of 90, by self'
printed 80 prof --all golden prof.100
same 2 wanted
[ "$(wc -l <lines)" = 22 ] || fail "not the whole screen is used: $(screen)"
screen | head -n 1 | grep -q '^\[1 table\]  2 tree ' || fail "first line: $(screen)"

press Down
last_line '2 of 90, by self'
press j j
last_line '4 of 90, by self'
press Up
last_line '3 of 90, by self'
press k
last_line '2 of 90, by self'
press PgDn
last_line '20 of 90, by self'
press PgUp
last_line '2 of 90, by self'
press End
last_line '90 of 90, by self'
printed 80 prof --all --no-header golden prof.100
shows "^$(tail -n 1 wanted | sed 's/[^ 0-9a-zA-Z]/./g')"
press Home
last_line '1 of 90, by self'
press G
last_line '90 of 90, by self'
press g
last_line '1 of 90, by self'

# Sorted: by each column, and back.
for key in total calls per-call name; do
  press s
  last_line ".*, by $key"
  press Home
  printed 80 prof --all --no-header --sort "$key" golden prof.100
  same 4 wanted
done
press s
last_line '.*, by self'
press S
last_line '.*, by name'
press s

# Filtered while it is typed.
press '&'
last_line 'only with:'
type_text helper_1
shows '^ .*helper_10\(int\)'
screen | sed '1,4d; $d' | grep . | grep -v helper_1 && fail "the filter lets others through"
type_text 1
last_line 'only with: helper_11'
press BSpace
last_line 'only with: helper_1'
press Enter
last_line '9 of 11, by self, with "helper_1"; Esc: all'
printed 80 prof --all --no-header golden prof.100
sed -i '1p; /helper_1/!d' wanted
same 4 wanted
press Escape
last_line '[0-9]+ of 90, by self'

# Looked for.
press Home /
last_line '/'
type_text INFL
press Enter
last_line '"INFL" is not here'
press /
type_text infl
press Enter
last_line '4 of 90, by self'
press /
type_text HELPER_3 && press Escape
last_line '4 of 90, by self'
press n
last_line '4 of 90, by self'
press /
type_text decode
press Enter
last_line '7 of 90, by self'
press /
type_text 'helper_3(' && press Enter
last_line '[3-9][0-9] of 90, by self'
press Home /
type_text nested_1 && press Enter
last_line '28 of 90, by self'
press n
last_line '38 of 90, by self'
press N
last_line '28 of 90, by self'
press N
last_line 'from the last line on again'
press n
last_line 'from the first line on again'

# Callers and callees, from one function to the next, and back.
press Home Enter
shows '^its callers:'
press Escape
press 1
last_line '1 of 90, by self'
press /
type_text 'next' && press Enter
last_line '5 of 90, by self'
press Enter
shows '^\[?1? ?.*\[3 calls\]'
printed 78 prof --callers '*IntoIter*' --depth 2 -s -r --all golden prof.100
screen | sed -n '/^its callers:/,/^what it calls:/p' | sed '1d; $d' | cut -c 3- | sed 's/ *$//' >lines
sort lines | cmp -s - <(grep -v 'deeper than' wanted | sort) || fail "callers: $(cat lines) not $(cat wanted)"
last_line '2 of 5, by total'
press Down Enter
shows '^group_by_name'
printed 78 prof --callees '*group_by_name*' --depth 2 -s -r --all golden prof.100
screen | sed -n '/^what it calls:/,$p' | sed '1d; $d' | grep . | cut -c 3- | sed 's/ *$//' >lines
cmp -s lines <(grep -v 'deeper than' wanted) || fail "callees: $(cat lines) not $(cat wanted)"
press BSpace
shows '^‹…›::next'
press BSpace
last_line 'no function was shown here before'
press Enter
shows '^group_by_name'
press b
shows '^‹…›::next'

# The tree, folded and unfolded.
press 2
last_line '1 of 44, by total'
press '*'
last_line '1 of 93, by total'
press End '*'
last_line '93 of 94, by total'
press Home
last_line '1 of 94, by total'
printed 78 prof -d -s -r --all golden prof.100
same 2 wanted 3
press -
last_line '1 of 3, by total'
press +
last_line '1 of 94, by total'
press Left
last_line '1 of 3, by total'
press Right
last_line '1 of 94, by total'
press h
last_line '1 of 3, by total'
press l
last_line '1 of 94, by total'
press Space
last_line '1 of 3, by total'
press Space
last_line '1 of 94, by total'
press Right Right
last_line '3 of 94, by total'
press Left
last_line '2 of 94, by total'
press s
last_line '.*, by self'
press S
last_line '.*, by total'

# What is folded is found. Then only what goes through that.
press Home - /
type_text nested_30 && press Enter
last_line '[0-9]+ of [0-9]+, by total'
shows 'nested_30:'
press f
shows '^only through nested_30 *$'
last_line '31 of 45, by total; F: all contexts'
press Home '*'
printed 78 prof -d -s -r --all --focus nested_30 golden prof.100
same 3 wanted 3
press F
last_line '.* of 9[0-9], by total'
screen | grep -q '^only through' && fail "F: $(screen)"

# The other panes, with the digits and in turn.
press 3
shows '\[3 calls\]'
press 4
shows '\[4 source\]'
shows 'its source is not known'
press 5
shows '\[5 remarks\]'
press 1
shows '\[1 table\]'
for title in '2 tree' '3 calls' '4 source' '5 remarks' '1 table'; do
  press Tab
  shows "\\[$title\\]"
done

# What something else wrote on the terminal goes.
echo 'something else' >"$(in_tmux display-message -p '#{pane_tty}')"
shows 'something else'
press C-l
until_so "no other text" eval '! on_screen "something else"'

# Another size, while it runs. In a low terminal the titles are what is left of the heading.
in_tmux resize-window -x 60 -y 12
last_line '.*'
until_so "12 lines" eval '[ "$(screen | wc -l)" = 12 ]'
press Home
last_line '1 of 90, by self'
printed 60 prof --all golden prof.100
same 2 wanted
in_tmux resize-window -x 30 -y 12
shows '^\[1 table\] 2 3 4 5 \? q *$'
in_tmux resize-window -x 9 -y 3
shows '^\[1 table\]$'
in_tmux resize-window -x 3 -y 1
until_so "a line" eval '[ "$(screen | wc -l)" = 1 ]'
in_tmux resize-window -x 200 -y 50
last_line '1 of 90, by self'
printed 200 prof --all golden prof.100
same 2 wanted

# The help, and from it back. It fits.
press '?'
shows '\[\? help\]'
last_line '1 of [0-9]+'
screen | sed '1d; $d' >help
press Escape
shows '\[1 table\]'
press '?'
shows '\[\? help\]'
press q
ended 0
[ ! -s said ] || fail "says: $(cat said)"

# At 200 by 50, and what two runs and counts have.
for profiles in "elapsed cpu" count; do
  # shellcheck disable=SC2086 # a list of words
  start 200 50 prof tui golden $profiles
  last_line '1 of [0-9]+, by (self|calls)'
  # shellcheck disable=SC2086
  printed 200 prof --all golden $profiles
  same 2 wanted
  press 2
  shows '\[2 tree\]'
  press '*'
  # shellcheck disable=SC2086
  printed 198 prof -d -s -r --all golden $profiles
  same 2 wanted 3
  press q
  ended 0
done

# A gmon.out; a folder; and the newest profile here, with the remark that there are others.
prof -g gmon.out golden prof.100 2>said
start 80 24 prof tui golden gmon.out
shows '\[1 table\]'
printed 80 prof --all golden gmon.out
same 2 wanted
press 2
shows '\[2 tree\]'
press '*'
printed 78 prof -d -s -r --all golden gmon.out
same 2 wanted 3
press q
ended 0
mkdir newest && cp prof.100 prof.101 newest
(cd newest && ln -s ../golden ../libstorage* .)
(cd newest && prof >../wanted 2>../remarks)
start 80 24 sh -c 'cd newest && exec prof tui'
shows '5 remarks \([0-9]'
press 5
shows '\[5 remarks'
screen | sed '1d; $d' | sed 's/^  *//; s/ *$//' | paste -sd ' ' | sed 's/ *$//' >lines
[ "$(cat lines)" = "$(sed 's/^prof: //' remarks | paste -sd ' ')" ] || fail "remarks: $(cat lines) not $(cat remarks)"
press q
ended 0

# Source with counts.
cp "$programs/collatz.c" .
compile collatz collatz.c -g -O1 -fno-inline
rewrite collatz -b
profiled collatz
start 80 24 prof tui collatz collatz.profiles
shows '\[1 table\]'
press /
type_text nseq && press Enter
press 4
shows '\[4 source\]'
last_line '6 of [0-9]+'
printed 80 prof --annotate=nseq collatz collatz.profiles
sed -i 1d wanted # its path is longer than a line
same 3 wanted
on_screen '^.*/collatz\.c: 15 of 15 lines with code ran *$' || fail "source: $(cat shown)"
press q
ended 0

# Of an inlined function, which has a row where samples tell of it.
compile inlines collatz.c -g -O2
mkdir sampled && (cd sampled && prof run ../inlines >log 2>&1) || fail "prof run: $(cat sampled/log)"
start 80 24 prof tui sampled
shows 'step \(inlined\)'
press /
type_text 'step (inl' && press Enter
press 4
shows '\[4 source\]'
last_line '4 of [0-9]+'
on_screen '^ *[0-9]+ .* 4 +static unsigned step' || fail "inlined: $(cat shown)"
press q
ended 0

# Kinds of terminals: of 16 and of 8 colours, without colours, and without UTF-8.
printf 'sixteen|a terminal of 16 colours,\n\tcolors#16, pairs#256, use=xterm,\n' >sixteen.info
tic -x -o terminfo sixteen.info || fail "no terminal of 16 colours"
for kind in sixteen xterm linux vt100 screen; do
  start 80 24 env TERMINFO="$PWD/terminfo" TERM=$kind sh -c 'stty -echo; : >ready; while [ ! -e go ]; do sleep 0.05; done; exec prof tui golden prof.100'
  until_so "a shell" test -e ready
  in_tmux pipe-pane 'cat >raw'
  : >go
  last_line '1 of 90, by self'
  press Down
  last_line '2 of 90, by self'
  printed 80 prof --all golden prof.100
  same 2 wanted
  press q
  until_so "the end" has_ended
  until_so "what was written" grep -q 'by self' raw
  rm -f ready go
  coloured=$(grep -caP '\x1b\[([0-9]+;)*(3[0-7]|9[0-7]|[34]8;)' raw)
  case $kind in
    vt100) [ "$coloured" = 0 ] || fail "colours on a vt100: $(cat -v raw)" ;;
    *) [ "$coloured" != 0 ] || fail "no colour on $kind: $(cat -v raw)" ;;
  esac
done
# Of its size the environment may say something else.
start 80 24 env LC_ALL=C TERM=vt100 COLUMNS=200 LINES=4 prof tui golden prof.100
last_line '1 of 90, by self'
shows '^ .* \?{12} *$'
screen | LC_ALL=C grep -qP '[\x80-\xff]' && fail "no ASCII: $(screen)"
press 2
last_line '.*, by total'
screen | LC_ALL=C grep -qP '[\x80-\xff]' && fail "no ASCII: $(screen)"
press q
ended 0

# Names that are commands to a terminal.
cat >hostile.c <<'C'
#define KEPT __attribute__((noipa))
static volatile int sum;
KEPT void one(int n) { sum += n; }
KEPT void two(int n) { one(n), one(n); }
int main(void) {
  for (int i = 0; i < 1000; i++) two(i);
  return 0;
}
C
compile hostile hostile.c -O1
objcopy --redefine-sym one=$'o\e[2Jn\a\n99.9 9.999 1\tfake\x9b' --redefine-sym two=$'t\xe2\x80\xaeo\x9bw\xcc\x81\xe2\x80\x8b' hostile named || fail "objcopy"
profld -o hostile.prof named 2>stderr || fail "profld: $(cat stderr)"
mkdir hostile.profiles
PROFTYPE=count PROFDIR=hostile.profiles ./hostile.prof
start 120 24 prof tui hostile.prof hostile.profiles
shows '\to|o\\x1b\[2Jn\\x07\\x0a99\.9 9\.999 1\\x09fake\\x9b *$'
shows 't\\xe2\\x80\\xaeo\\x9bw'
last_line '1 of 3, by calls'
[ "$(screen | grep -c fake)" = 1 ] || fail "a faked row: $(screen)"
press 2
shows '\[2 tree\]'
press '*'
shows '^ .*o\\x1b\[2Jn\\x07\\x0a'
press q
ended 0

# How it may end: by a signal, by Ctrl-C; and when the terminal is closed. No file is left.
files_here() { ls -A | grep -vxE 'status|number|before|after|written|said|shown|lines|files'; }
files_here >files
for signal in TERM HUP INT; do
  start 80 24 prof tui golden prof.100
  last_line '1 of 90, by self'
  case $signal in
    INT) in_tmux send-keys C-c ;;
    *) kill -$signal "$(cat number)" ;;
  esac
  case $signal in TERM) ended 143 ;; HUP) ended 129 ;; INT) ended 130 ;; esac
done
start 80 24 prof tui golden prof.100
last_line '1 of 90, by self'
number=$(cat number)
in_tmux kill-server
until_so "the end of $number" eval '! kill -0 "$number" 2>/dev/null'
[ "$(files_here)" = "$(cat files)" ] || fail "files were left: $(files_here | diff files -)"

# Stopped and gone on with.
start 80 24 env PS1='ready>' sh -c 'exec bash --norc --noediting -i 2>&1'
shows '^ready>'
type_text 'prof tui golden prof.100' && in_tmux send-keys Enter
last_line '1 of 90, by self'
in_tmux send-keys C-z
shows 'Stopped .*prof tui'
type_text fg && in_tmux send-keys Enter
last_line '1 of 90, by self'
press Down
last_line '2 of 90, by self'
press q
until_so "a prompt" eval '! on_screen "by self"'
type_text 'exit 7' && in_tmux send-keys Enter
ended 7

# A program that runs: looked at again and again. What is folded stays, and the cursor, on its line: others may come to stand above
# it.
compile program "$programs/endless.c" -O1
rewrite program
mkdir running
{ PROFDIR=running exec ./program.prof >progress; } 2>/dev/null &
pid=$!
disown # no word about its end
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done
calls_shown() { screen | sed -n 's,.*round_of:[^/]*/\([0-9]*\).*,\1,p'; }
start 80 24 env PROFDIR=running prof tui -i 0.2 $pid
last_line '1 of [0-9]+, by self; live, p: stop'
press 2 Down
last_line '[0-9]+ of [0-9]+, by total; live, p: stop'
shows 'round_of:[^/]*/[0-9]+'
for look in first second; do
  before_it=$(calls_shown)
  until_so "more calls at the $look look" eval '[ "$(calls_shown)" -gt "$before_it" ]'
done
press p
last_line '[0-9]+ of [0-9]+, by total; stands still, p: go on'
before_it=$(calls_shown)
press Home
last_line '1 of .*'
press -
last_line '1 of 1, by total; stands still, p: go on'
press +
[ "$(shows 'round_of:' && calls_shown)" = "$before_it" ] || fail "p: it goes on"
press p
until_so "more calls" eval '[ "$(calls_shown)" -gt "$before_it" ]'
press -
last_line '1 of 1, by total; live, p: stop'
kill -9 $pid
last_line '1 of 1, by total; it has ended'
press +
shows 'round_of:'
calls=$(prof --json program.prof running/prof.$pid 2>/dev/null | jq '[.functions[] | select(.name == "round_of") | .calls] | add')
until_so "all $calls calls" eval '[ "$(calls_shown)" = "$calls" ]'
pid=
press q
ended 0

# A program of 8 threads, for LIVE_SECONDS: each line is one of the table's, counts never go down, and what is on the screen is what
# a terminal shows that is drawn anew.
cat >threads.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned sum[8 * 64];
#define WORKER(n)                                                             \
  __attribute__((noipa)) static void work_##n(void) {                         \
    for (int i = 0; i < 100 * (n + 1); ++i) sum[64 * n] += i;                 \
  }                                                                           \
  __attribute__((noipa)) static void* thread_##n(void* p) {                   \
    for (;;) {                                                                \
      for (int i = 0; i < 1000; ++i) work_##n();                              \
      usleep(1000 * n);                                                       \
    }                                                                         \
    return p;                                                                 \
  }
WORKER(0) WORKER(1) WORKER(2) WORKER(3) WORKER(4) WORKER(5) WORKER(6) WORKER(7)
int main(void) {
  void* (*threads[])(void*) = {thread_0, thread_1, thread_2, thread_3, thread_4, thread_5, thread_6, thread_7};
  pthread_t id;
  for (int i = 0; i < 8; ++i) pthread_create(&id, NULL, threads[i], NULL);
  puts("began");
  fflush(stdout);
  for (;;) pause();
}
C
compile threads threads.c -O1 -pthread
rewrite threads
rm progress
mkdir threaded
{ PROFDIR=threaded exec ./threads.prof >progress; } 2>/dev/null &
pid=$!
disown
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done
start 80 24 env PROFDIR=threaded prof tui -i 0.2 $pid
last_line '1 of [0-9]+, by self; live, p: stop'
for n in {0..7}; do shows " work_$n *$"; done
: >counts
looks=0
for ((until = SECONDS + ${LIVE_SECONDS:-5}; SECONDS < until; ++looks)); do
  screen >shown
  grep -qE '^ +% +Self .* Calls +Per-call +Name$' shown || fail "titles: $(cat shown)"
  sed '1,/ Per-call /d; $d' shown | grep . >lines
  grep -vE '^ *(~?[0-9.]+|-)( +(-|~?[0-9.]+(-[0-9.]+)?(ns|us|ms|s)?)){5} +(work_[0-7]|thread_[0-7]|[a-z_]+)$' lines && fail "wrong cells: $(cat shown)"
  # work_N CALLS, the last column of digits only
  awk '/ work_[0-7]$/ { for (i = NF - 1; i > 1; i--) if ($i ~ /^[0-9]+$/) { print $NF, $i; break } }' lines | sort >now
  [ "$(wc -l <now)" = 8 ] || fail "not 8 functions of threads: $(cat shown)"
  join counts now | awk '$3 < $2 { exit 1 }' || fail "calls go down: $(join counts now)"
  mv now counts
done
[ $looks -gt 2 ] || fail "$looks looks"
press p
last_line '[0-9]+ of [0-9]+, by self; stands still, p: go on'
press Home
last_line '1 of .*'
screen >still
press C-l Down
last_line '2 of .*'
press Up
last_line '1 of .*'
screen | diff still - || fail "drawn anew it is another screen"
press p
kill -9 $pid
pid=
last_line '[0-9]+ of [0-9]+, by self; it has ended'
press Home
last_line '1 of .*'
printed 80 prof --all threads.prof threaded/prof.*
same 2 wanted
press q
ended 0

# A run of several processes: those that it starts while it is looked at are added.
cat >forks.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) static void serve(void) { usleep(10); }
int main(void) {
  puts("began");
  fflush(stdout);
  for (int i = 0; i < 3; ++i) {
    while (access(i == 0 ? "go1" : i == 1 ? "go2" : "go3", F_OK)) usleep(10000);
    if (fork() == 0) {
      for (int k = 0; k < 100; ++k) serve();
      while (access("stop", F_OK)) usleep(10000);
      return 0;
    }
  }
  while (wait(NULL) > 0) {
  }
}
C
compile forks forks.c -O1
rewrite forks
rm progress
mkdir forked
{ PROFDIR=forked exec ./forks.prof >progress; } 2>/dev/null &
pid=$!
disown
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done
start 80 24 prof tui -i 0.2 forked
last_line '1 of [0-9]+, by self; live, p: stop'
for n in 1 2 3; do
  touch go$n
  shows " ${n}00 .* serve *$"
  shows "^forks.prof, .*$((n + 1)) profiles"
done
touch stop
last_line '1 of [0-9]+, by self; it has ended'
pid=
shows ' 300 .* serve *$'
press q
ended 0

# After a reset a function is gone until it is called again: from help one comes back to what is there.
cat >once.c <<'C'
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void always(void) { usleep(1000); }
int main(void) {
  puts("began");
  fflush(stdout);
  for (;;) always();
}
C
compile once once.c -O1
rewrite once
rm progress
{ PROFDIR=running exec ./once.prof >progress; } 2>/dev/null &
pid=$!
disown
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done
start 80 24 env PROFDIR=running prof tui -i 0.2 $pid
last_line '1 of [0-9]+, by self; live, p: stop'
press /
type_text puts && press Enter
press Enter
shows '\[3 calls\]'
shows '^puts *$'
press '?'
shows '\[\? help\]'
prof ctl reset running/prof.$pid >said 2>&1 || fail "reset: $(cat said)"
puts_is_gone() { prof --json once.prof running/prof.$pid 2>/dev/null | jq -e 'all(.functions[]; .name != "puts")' >/dev/null; }
until_so "a profile without it" puts_is_gone
press Escape
shows '\[1 table\]'
press q
ended 0
# Signals are seen however long the next look is away.
start 80 24 env PROFDIR=running prof tui -i 1e300 $pid
last_line '1 of [0-9]+, by self; live, p: stop'
kill -s TERM "$(cat number)"
ended 143
kill -9 $pid
pid=

# What cannot be shown, and where.
for streams in '</dev/null' '>stdout' '</dev/null >stdout'; do
  start 80 24 sh -c "exec prof tui golden prof.100 $streams"
  ended 2
  [ "$(cat said)" = "prof: prof tui needs a terminal; use prof or prof --html FILE" ] || fail "$streams: $(cat said)"
done
run prof tui golden prof.100
[ "$status" = 2 ] && [ "$(cat stderr)" = "prof: prof tui needs a terminal; use prof or prof --html FILE" ] || fail "no terminal: $status $(cat stderr)"
for kind in dumb no-such-terminal; do
  start 80 24 env TERM=$kind prof tui golden prof.100
  ended 1
  grep -q "^prof: .*\"$kind\".*; set TERM to what it is, such as xterm, or use prof\$" said || fail "TERM=$kind: $(cat said)"
done
mkdir empty
start 80 24 sh -c 'cd empty && exec prof tui'
ended 1
none="prof: no profile prof.* in the current directory; make one: prof run ./program; or name one: prof PROFILE"
[ "$(cat said)" = "$none" ] || fail "no profile: $(cat said)"
run sh -c 'cd empty && exec prof'
[ "$status" = 1 ] && [ "$(cat stderr)" = "$none" ] || fail "prof without a profile: $status $(cat stderr)"
# prof run says what to type, and that shows what it left.
start 80 24 sh -c 'cd empty && prof run ../collatz && exec prof tui'
shows '^\[1 table\]'
tail -n 1 said | grep -qx 'prof: the profile is prof\.[0-9]*; to look: prof tui or prof --html page\.html' || fail "prof run: $(cat said)"
shows ' 499999 .* nseq *$'
press q
ended 0
start 80 24 prof tui -i 0 golden prof.100
ended 2
grep -q "^prof: -i: invalid number '0'; " said || fail "-i 0: $(cat said)"
cp prof.100 cut
truncate -s 3000 cut
start 80 24 prof tui golden cut
until_so "something" eval 'has_ended || on_screen "q quit"'
has_ended || { press q && ended 1; }

# Each key that the help names was pressed.
sed -nE 's/^([^ ].*[^ ])  +.*/\1/p; s/^(\S+)  .*/\1/p' help | sort -u >named
{
  tr ' ' '\n' <named | sed 's/^Backspace$/BSpace/'
  grep -oE 'Esc|Home g|End|PgUp|PgDn|Ctrl-L|F: |Left h -|blank' help | tr -d ':' | tr ' ' '\n' | sed 's/^Esc$/Escape/; s/^Ctrl-L$/C-l/; s/^blank$/Space/'
} | grep . | sort -u >keys
grep -qx 'Escape' keys && [ "$(wc -l <keys)" -ge 30 ] || fail "the help names few keys: $(paste -sd ' ' keys)"
while read -r key; do grep -qxF -e "$key" pressed || fail "no test presses $key"; done <keys
