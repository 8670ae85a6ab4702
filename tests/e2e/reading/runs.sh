# A run of several processes: prof shows the newest run, its first process first, and says that there are others.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >family.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile int sum;
KEPT void in_parent(void) { sum++; }
KEPT void in_child(void) { sum++; }
KEPT void in_grandchild(void) { sum++; }
int main(int argc, char** argv) {
  in_parent();
  for (int i = 0; i < 3; i++) {
    if (fork()) {
      wait(NULL);
      continue;
    }
    for (int n = 0; n < 10; n++) in_child();
    if (i == 2 && fork() == 0) {
      for (int n = 0; n < 100; n++) in_grandchild();
      exit(0);
    }
    wait(NULL);
    if (i == 0 && argc > 1) execv(argv[1], argv + 1);
    exit(0);
  }
  return 0;
}
C
cat >other.c <<'C'
static volatile int sum;
__attribute__((noipa)) void in_other(void) { sum++; }
int main(void) { return in_other(), 0; }
C
compile family family.c -O1
compile other other.c -O1
rewrite family
rewrite other
calls() { prof --json "$@" 2>/dev/null | jq -r --arg name "$name" '[.functions[] | select(.name == $name).calls] | add // 0'; }
has() { # FUNCTION CALLS ARGUMENT...
  local name=$1 wanted=$2
  shift 2
  [ "$(calls "$@")" = "$wanted" ] || fail "prof $*: $(calls "$@") calls of $name, not $wanted"
}

./family.prof
has in_parent 1
has in_child 0
run prof
first=$(grep -oE 'prof\.[0-9]+: shown is the first of 5 processes' stderr) || fail "remark: $(cat stderr)"
first=${first%%:*}
[ "$(prof --json "$first" | jq '[.functions[] | select(.name == "in_parent")] | length')" = 1 ] || fail "first: $first"
[ "$(prof --processes --json | jq -c '[.[] | [.functions[] | select(.name | startswith("in_")) | .calls] | add]')" = \
  '[1,10,10,10,100]' ] || fail "--processes: $(prof --processes 2>&1)"
has in_child 30 family.prof prof.*

# A line for each process, and for each thread.
run prof --processes
[ "$(sed -n '2,/^$/p' stdout | grep -c './family.prof$')" = 5 ] || fail "summary: $(head -8 stdout)"
[ "$(sed -n 2p stdout | awk '{ print $5 }')" = "${first#prof.}" ] || fail "summary: $(head -8 stdout)"

# What ran last is meant, or what ran last of a program; an earlier run is not mixed with it.
./family.prof
./other.prof
has in_other 1
has in_parent 1 family.prof
has in_parent 1 family
[ "$(prof --processes --json family.prof | jq length)" = 5 ] || fail "two runs are mixed"
run prof "$BUILD/bin/prof"
[ "$status" = 1 ] && grep -q 'prof: no profile of it, prof.\*, is in the current directory; run its copy, or name one$' stderr || fail "no profile: $(cat stderr)"

# A child that becomes another program.
rm prof.*
./family.prof ./other.prof
has in_parent 1
run prof --processes
[ "$status" = 0 ] && grep -q '^prof: 1 profile of other programs or PROFTYPEs left out, such as prof\.' stderr ||
  fail "another program: $(cat stderr)"

# A folder for the profiles of a run.
rm prof.*
run prof run --dir /dev/null/profiles ./family
[ "$status" = 1 ] && [ "$(cat stderr)" = "prof: /dev/null/profiles: Not a directory" ] || fail "--dir where none can be: $status $(cat stderr)"
run prof run --dir here/profiles ./family
[ "$status" = 0 ] && [ "$(find here/profiles -name 'prof.*[0-9]' | wc -l)" = 5 ] && ! ls prof.* 2>/dev/null || fail "--dir: $(cat stderr)"
grep -q '^prof: the profiles are in here/profiles; to look at it: prof --html page.html here/profiles$' stderr || fail "--dir: $(cat stderr)"
# What to type is in one line of 80 columns: as much of it as there is room for.
run prof run --dir d ./family
grep -qx 'prof: the profiles are in d; to look: prof tui d or prof --html page.html d' stderr || fail "--dir d: $(cat stderr)"
has in_child 30 here/profiles
has in_child 30 family here/profiles
run prof run --dir here/profiles ./family
[ "$status" = 1 ] && grep -q '^prof: here/profiles: has profiles of another run in it; ' stderr || fail "--dir again: $(cat stderr)"
mkdir empty
run prof empty
[ "$status" = 1 ] && grep -q '^prof: empty: there are no profiles prof.\* in this folder; name one' stderr || fail "empty folder: $(cat stderr)"

# What prof can do, prof run can.
run prof run --type count --processes ./family
[ "$status" = 0 ] && [ "$(grep -c '^process [0-9]*, child of ' stderr)" = 5 ] || fail "run --processes: $(cat stderr)"
[ "$(prof --json | jq -r .type)" = count ] || fail "--type count"
cat >busy.c <<'C'
static volatile int sum;
__attribute__((noipa)) void tiny(void) { sum++; }
int main(void) {
  for (int i = 0; i < 1000000; i++) tiny();
  return 0;
}
C
compile busy busy.c -O1
run prof run --suggest ./busy
[ "$status" = 0 ] && grep -qx -e '-N tiny' stderr || fail "run --suggest: $(cat stderr)"
run prof run --type time ./family
grep -q '^prof: prof\.[0-9]*: shown is the first of 5 processes; prof --processes ' stderr || fail "run: $(cat stderr)"
run prof run --type typo ./family
[ "$status" = 2 ] && grep -q "^prof: --type: invalid type 'typo'; write time, elapsed, " stderr || fail "--type typo: $(cat stderr)"

run prof run --no-imports ./family
! grep -qP '\tfork$' stderr || fail "--no-imports: $(cat stderr)"
run prof run --no-imports --imports ./family
grep -qP '\tfork$' stderr || fail "--imports: $(cat stderr)"

# A program that is rewritten already.
run prof run ./other.prof
[ "$status" = 0 ] && grep -qP '\tin_other$' stderr || fail "rewritten: $(cat stderr)"
run prof run -F main ./other.prof
[ "$status" = 1 ] && grep -q '^prof: ./other.prof: is rewritten already; ' stderr || fail "rewritten, -F: $(cat stderr)"

# A program that only starts others.
cat >work.c <<'C'
#include <time.h>
int main(void) {
  while (clock() < CLOCKS_PER_SEC) continue; // of the processor
  return 0;
}
C
cat >starter.c <<'C'
#include <stdlib.h>
int main(void) { return system("./work 'two words' 3"); }
C
compile work work.c -O1
compile starter starter.c -O1
run prof run ./starter
[ "$status" = 0 ] && grep -qE "^prof: \./starter ran 0\.0[0-9] s itself, .* to profile the longest: prof run -- $PWD/work 'two words' 3$" stderr ||
  fail "starter: $(cat stderr)"
run prof run ./other
! grep -q 'ran .* itself' stderr || fail "starts nothing: $(cat stderr)"

# The number of a process that runs, wherever its profile is.
cat >waiting.c <<'C'
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) void in_waiting(void) { sum++; }
int main(void) {
  in_waiting();
  write(1, "x", 1);
  for (;;) pause();
}
C
compile waiting waiting.c -O1
rewrite waiting
mkdir elsewhere
mkfifo ready
(cd elsewhere && exec ../waiting.prof) >ready &
pid=$!
read -rn 1 <ready
has in_waiting 1 "$pid"
has in_waiting 1 -p "$pid"
run prof ctl status "$pid"
[ "$status" = 0 ] || fail "ctl: $(cat stderr)"
kill "$pid"
wait "$pid" || true

# What a program forked goes on when it has ended: a daemon, that has no profile yet or has one. It waits until it is told, so that all is
# the same however busy the machine is.
cat >daemon.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static inline __attribute__((always_inline)) long call(long number, const void* a, long b) {
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b) : "rcx", "r11", "memory");
  return number;
}
static volatile long k;
__attribute__((noipa)) void serve(void) { k++; }
__attribute__((noipa)) void configure(void) { k++; }
// Without calls of ours: then the process has no profile yet.
#define WAIT_FOR(file) while (call(SYS_access, file, F_OK) != 0) call(SYS_sched_yield, 0, 0)
int main(int argc, char** argv) {
  configure();
  const int twice = !strcmp(argv[1], "twice"), early = !strcmp(argv[1], "early");
  if (!strcmp(argv[1], "bare")) {
    if (call(SYS_fork, 0, 0)) return 5;
  } else if (!strcmp(argv[1], "daemon")) {
    if (daemon(1, 0)) return 1;
  } else {
    if (fork()) {
      if (twice) wait(0);  // the process in between is no daemon
      return 5;
    }
    setsid();
    if (twice && fork()) _exit(0);
    for (int fd = 0; fd < 3; ++fd) close(fd);
  }
  if (early) serve();
  if (early) close(open("began", O_WRONLY | O_CREAT, 0644));
  WAIT_FOR("go");
  for (int i = 0; i < 20; i++) serve();
  close(open("done", O_WRONLY | O_CREAT, 0644));
  return 0;
}
C
for link in pie static; do
  # shellcheck disable=SC2046 # lists of words
  compile daemon daemon.c -O1 $(link_flags $link)
  for how in bare daemon twice once early; do
    rm -rf go began "done" daemons
    PROFDIR=daemons run prof run --type time ./daemon $how
    pid=$(sed -n 's/^prof: \.\/daemon: process \([0-9]*\), which it started, goes on; prof daemons\/prof\.\1 shows what it does$/\1/p' stderr)
    touch go
    [ -n "$pid" ] || fail "$link, $how: prof run does not say that a process goes on: $(cat stderr)"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    [ -e "done" ] || fail "$link, $how: process $pid was not the daemon"
    run prof "daemons/prof.$pid"
    has_row 2[01] serve || fail "$link, $how: the daemon's profile: $(cat stdout stderr)"
    (cd daemons && prof) >stdout 2>stderr
    grep -q '^prof: .*shown is the first of [23] processes' stderr && has_row 1 configure || fail "$link, $how: prof afterwards: $(cat stdout stderr)"
  done
done
rm -f go
run prof run --true ./daemon daemon
touch go
grep -q '^prof: \./daemon: process [0-9]*, which it started, goes on; ' stderr || fail "--true: $(cat stderr)"
# Without hooks, there are samples up to then.
cat >leaves.c <<'C'
#include <unistd.h>
static volatile int k;
__attribute__((noipa)) void serve(void) { k++; }
int main(void) {
  if (daemon(1, 0)) return 1;
  while (access("go", F_OK)) usleep(1000);
  for (int i = 0; i < 20; i++) serve();
  return 0;
}
C
compile leaves leaves.c -O1
rm -f go
run prof run --type auto ./leaves
cp stderr said
pid=$(sed -nE 's/^prof: \.\/leaves: process ([0-9]*), which it started, goes on( without samples)?; prof prof\.\1 shows .*/\1/p' stderr)
touch go
[ -n "$pid" ] || fail "without hooks: $(cat stderr)"
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
run prof "prof.$pid"
has_row 20 serve || fail "without hooks, the daemon's profile: $(cat stdout stderr)"
run prof
# Its calls are shown then, and have no time.
has_row 20 serve || fail "without hooks, prof afterwards: $(cat stdout stderr)"
if grep -q "without samples; prof prof\.$pid" said; then
  grep -q "^prof: prof\.[0-9]*\.samples: 1 of 2 processes ($pid) went on when prof run, and so the sampling, had ended; " stderr ||
    fail "without hooks, prof afterwards does not say what has no time: $(cat stderr)"
fi
# One that has ended is not said to go on.
PROFDIR=ended run prof run ./family
! grep -q 'goes on\|go on' stderr || fail "a child that has ended: $(cat stderr)"
exit 0
