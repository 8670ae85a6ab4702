# prof run --type auto: one run, with exact calls and times from samples, which prof afterwards finds by itself.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
unset tabstop

cat >program.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile unsigned sink;
KEPT void tiny(void) { ++sink; }
// Runs on until the thread has had a processor for so many milliseconds.
KEPT void busy(long milliseconds) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double end = t.tv_sec + t.tv_nsec * 1e-9 + milliseconds * 1e-3;
  do {
    for (volatile int i = 0; i < 200000; ++i) sink += i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while (t.tv_sec + t.tv_nsec * 1e-9 < end);
}
KEPT void* work(void* unused) {
  for (int i = 0; i < 1000; ++i) tiny();
  busy(200);
  return unused;
}
int main(int argc, char** argv) {
  for (int i = 0; i < 100000; ++i) tiny();
  busy(400);
  if (argc > 1 && !strcmp(argv[1], "more")) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
      work(NULL);
      _exit(0);
    }
    wait(NULL);
  }
  if (getenv("PROFTYPE")) sink = 0;
  puts("done");
  return 7;
}
C
compile program program.c -O1 -g -pthread

# calls FUNCTION FILE: as a table has them.
calls() { awk -F '\t' -v name="$1" '$2 == name { n = split($1, field, " "); print field[n - 1] }' "$2"; }
first() { awk -F '\t' 'NF == 2 && $2 != "Name" { print $2; exit }' "$1"; }

# The program's output and status are its own; its calls are exact, and the time is where it was.
run prof run --type auto ./program
[ "$status" = 7 ] || fail "ended with $status: $(cat stderr)"
[ "$(cat stdout)" = done ] || fail "printed $(cat stdout)"
[ "$(calls tiny stderr)" = 100000 ] || fail "tiny was called $(calls tiny stderr) times: $(cat stderr)"
[ "$(calls busy stderr)" = 1 ] || fail "busy was called $(calls busy stderr) times: $(cat stderr)"
[ "$(first stderr)" = busy ] || fail "the first is $(first stderr), not busy: $(cat stderr)"
profile=$(ls prof.* | grep -v samples)

# prof shows the same afterwards, and JSON has what samples took, wherever they came from.
run prof
[ "$status" = 0 ] && [ "$(first stdout)" = busy ] && [ "$(calls tiny stdout)" = 100000 ] || fail "prof: $(cat stdout stderr)"
run prof --json "$profile"
[ "$(jq '[.functions[] | select(.name == "busy")][0].self_seconds > 0.2' stdout)" = true ] || fail "JSON: $(cat stdout)"

# Samples that are gone are no times.
if [ -e "$profile.samples" ]; then
  mv "$profile.samples" elsewhere
  run prof "$profile"
  [ "$status" = 0 ] && grep -qP ' 100000\ttiny$' stdout && grep -q 'no hooks, no times$' stdout && ! grep -q Self stdout || fail "without samples: $(cat stdout stderr)"
  mv elsewhere "$profile.samples"
fi

# Threads and children are counted and sampled as well.
mkdir more
(cd more && PROFDIR=. prof run --type auto ../program more >stdout 2>stderr) || [ $? = 7 ] || fail "more: $(cat more/stderr)"
(cd more && prof program 2>/dev/null || prof prof.*[0-9] 2>&1) >table
[ "$(calls tiny table)" = 102000 ] || fail "tiny was called $(calls tiny table) times, with threads and children: $(cat table more/stderr)"
[ "$(calls busy table)" = 3 ] || fail "busy was called $(calls busy table) times: $(cat table)"

# What it cannot do is refused, and it is said what can.
run prof run --type auto --libs ./program
[ "$status" = 2 ] && grep -q '^prof: --type auto is not supported with --libs' stderr || fail "--libs: $status $(cat stderr)"
run prof run --type atuo ./program
[ "$status" = 2 ] && grep -q "invalid type 'atuo'; write time, .* auto" stderr || fail "a wrong type: $status $(cat stderr)"
compile static program.c -O1 -static -pthread
run prof run --type auto ./static
[ "$status" = 1 ] && grep -q 'static: is a static program, for which --type auto is not supported; use --type time' stderr ||
  fail "static: $status $(cat stderr)"
