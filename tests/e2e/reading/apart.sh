# Threads and processes shown apart and added up: -t, --processes, -p; the names of threads; what was folded or lost is said
# in every view.
. "${0%/*}/../common.inc"

cat >family.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
KEPT int work(int x) { return x; }
KEPT void times(int n) { while (n--) work(n); }
KEPT void* named(void* name) {
  pthread_setname_np(pthread_self(), name);
  times(*(char*)name - '0');
  return NULL;
}
KEPT void in_threads(void) {
  static char names[3][8] = {"3three", "5five", "7seven"};
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, named, names[i]);
    pthread_join(thread, NULL);
  }
}
int main(int argc, char** argv) {
  if (argc > 2) return times(atoi(argv[2])), 0;
  in_threads();
  for (int i = 1; i <= 2; i++) {
    const pid_t pid = fork();
    if (pid == 0) {
      times(100 * i);
      if (i == 1) exit(0);
      char* arguments[] = {argv[0], "again", "50", NULL};
      execv("/proc/self/exe", arguments);
    }
    printf("%d\n", pid);
    waitpid(pid, NULL, 0);
  }
}
C
compile family family.c -O1
rewrite family
./family.prof a >pids || fail "status $?"
first=$(sed -n 1p pids) second=$(sed -n 2p pids)
parent=$(for file in prof.*; do prof --processes --json family.prof "$file"; done | jq -r '.[] | .process' | sort -n | uniq | grep -vx "$first\|$second")
[ "$(ls prof.* | wc -l)" = 4 ] || fail "$(ls prof.*)"

calls() { column Calls "$@" | paste -sd ' '; }
run prof family.prof prof.*
[ "$(calls work)" = 365 ] || fail "added up: $(cat stdout stderr)"

run prof --processes family.prof
[ "$status" = 0 ] && [ "$(calls work)" = "15 100 200 50" ] || fail "--processes: $(cat stdout stderr)"
[ "$(grep '^process' stdout)" = "process $parent, child of $$: ./family.prof a
process $first, child of $parent: ./family.prof a
process $second, child of $parent: ./family.prof a
process $second, child of $parent: ./family.prof again 50" ] || fail "--processes: $(grep ^process stdout)"
run prof --processes -d family.prof
[ "$(grep -c '^process' stdout)" = 4 ] && [ "$(grep -c 'work:' stdout)" = 4 ] || fail "--processes -d: $(cat stdout)"

run prof -t family.prof "prof.$parent"
[ "$(calls work)" = "3 5 7" ] || fail "-t: $(cat stdout stderr)"
[ "$(sed -nE "s/^process $parent, thread [0-9]+ //p" stdout | paste -sd ' ')" = "family.prof 3three 5five 7seven" ] || fail "-t: $(grep ^process stdout)"
run prof -t --function work family.prof "prof.$parent"
[ "$(calls work)" = "3 5 7" ] && [ "$(sed -nE "s/^process $parent, thread [0-9]+ //p" stdout | paste -sd ' ')" = "3three 5five 7seven" ] ||
  fail "-t --function: $(cat stdout stderr)"
prof -t --json family.prof "prof.$parent" >threads.json || fail "-t --json"
[ "$(jq -c '[.[] | [.thread_name, ([.functions[] | select(.name == "work").calls] | add // 0)]]' threads.json)" = \
  '[["family.prof",0],["3three",3],["5five",5],["7seven",7]]' ] || fail "-t --json: $(jq -c '.[] | [.thread_name, .functions]' threads.json)"

# What the lists of processes and threads say is in JSON, too.
prof --processes family.prof >list 2>said || fail "--processes"
prof --processes --json family.prof >processes.json || fail "--processes --json"
jq -e '(map(.calls) | add) == ([.[].functions[].calls] | add) and all(.[];
  .elapsed_seconds > 0 and .processor_seconds > 0 and .waiting_seconds >= 0 and (.complete | type) == "boolean" and .program == "family.prof")' \
  processes.json >/dev/null || fail "--processes --json: $(jq -c '.[] | del(.functions, .tree, .modules)' processes.json)"
[ "$(jq -r '.[] | "\(.calls) \(.process) \(.command)"' processes.json)" = "$(awk '/^$/ { exit } NR > 1 { print $4, $5, $6, $7, $8 }' list | sed 's/ *$//')" ] ||
  fail "--processes --json is not the list: $(cat list)"
jq -e 'all(.[] | select(.calls > 0); .elapsed_seconds > 0 and .waiting_seconds >= 0 and
  (.processor_seconds + .waiting_seconds - .elapsed_seconds | fabs) < 1e-6)' threads.json >/dev/null || fail "-t --json: $(jq -c '.[] | del(.functions, .tree, .modules)' threads.json)"

for arguments in "-p $first" "-p $first family.prof" "-p $first family.prof prof.*"; do
  # shellcheck disable=SC2086
  run prof $arguments
  [ "$status" = 0 ] && [ "$(calls work)" = 100 ] || fail "$arguments: $(cat stdout stderr)"
done
run prof -p "$second"
[ "$(calls work)" = 250 ] || fail "-p, two programs in one process: $(cat stdout stderr)"
run prof -p 1 family.prof
[ "$status" = 1 ] && grep -q '^prof: no profile of process 1 ' stderr || fail "-p 1: $status $(cat stderr)"
run prof -p x family.prof
[ "$status" = 2 ] && grep -q "^prof: -p: invalid number 'x'; write the id of a process$" stderr || fail "-p x: $status $(cat stderr)"
run prof -t -g gmon.out family.prof "prof.$parent"
[ "$status" = 2 ] && [ ! -e gmon.out ] && grep -q '^prof: -t and -g exclude each other; files for gprof show everything as one$' stderr || fail "-t -g: $status $(cat stderr)"

# Folded and lost calls: recursion in more threads than there is room for.
rm -f prof.*
cat >crowd.c <<'C'
#include <pthread.h>
static pthread_barrier_t all_are_there;
__attribute__((noipa)) int deep(int n) { return n > 0 ? deep(n - 1) + 1 : 0; }
void* worker(void* unused) {
  deep(100);
  pthread_barrier_wait(&all_are_there);
  return unused;
}
int main(void) {
  enum { THREADS = 60 };
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_are_there, 0, THREADS);
  for (int i = 0; i < THREADS; i++) if (pthread_create(&threads[i], 0, worker, 0)) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
}
C
compile crowd crowd.c -O1
rewrite crowd
(
  ulimit -f 256
  ./crowd.prof
) || fail "crowd: status $?"
for view in "" -d -s -R "-g gmon.out" -t --processes; do
  # shellcheck disable=SC2086
  prof $view crowd.prof prof.* >/dev/null 2>said || fail "$view: $(cat said)"
  grep -q 'calls were folded' said || fail "$view does not say what was folded: $(cat said)"
  grep -q 'found no room' said || fail "$view does not say what was lost: $(cat said)"
done
prof --json crowd.prof prof.* | jq -e '.folded > 0 and .lost > 0' >/dev/null || fail "--json does not say what was folded and lost"

# A thread that lives when the process ends has the name that it has then, however long ago it called anything.
cat >renamed.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static int ends[2];
KEPT int work(int x) { return x; }
KEPT void* waits(void* unused) {
  pthread_setname_np(pthread_self(), "early");
  work(1);
  work(2);
  if (write(ends[1], "x", 1) == 1) pause();
  return unused;
}
int main(void) {
  pthread_t thread;
  char c;
  if (pipe(ends) || pthread_create(&thread, NULL, waits, NULL) || read(ends[0], &c, 1) != 1) return 1;
  return pthread_setname_np(thread, "late, at an end");
}
C
compile renamed renamed.c -O1
rewrite renamed
profiled renamed
run prof -t renamed.prof renamed.profiles/prof.*
grep -q '^process [0-9]*, thread [0-9]* late, at an end$' stdout || fail "renamed: $(grep ^process stdout)"
