# prof trace: the instructions and the memory of a program that is stepped are those that valgrind sees, and the program does not
# notice.
. "${0%/*}/common.inc"

compile branches "$programs/branches.c" -g -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none
compile repeated "$programs/branches.c" -DREPEAT -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none
./branches
expected=$?

# traced FILE OPTION...: traces ./branches.
traced() {
  local file=$1
  shift
  run timeout $forever prof trace "$@" -o "$file" -- ./branches
  [ "$status" = "$expected" ] && [ ! -s stderr ] || fail "prof trace $*: status $status, not $expected; $(cat stderr)"
}

# All instructions, and all loads and stores but those of the stack, which lies elsewhere, as lackey has them.
not_of_stack() { grep -E '^(I |.[LSM]) +0*[0-9a-f]{6,7},' "$1" | sed -E 's/^(..) +0*/\1 /'; }
traced trace
valgrind --tool=lackey --trace-mem=yes --log-file=lackey.log ./branches
not_of_stack lackey.log >lackey
prof itrace --lackey trace >listed
not_of_stack listed >ours
[ "$(grep -c '^I' lackey)" -gt 3000 ] && [ "$(grep -c '^ [LSM]' lackey)" -gt 500 ] || fail "lackey saw $(wc -l <lackey) lines"
cmp -s lackey ours || fail "not what lackey says: $(diff lackey ours | head -n 5)"
instructions=$(prof istat trace | head -n 1)
[ "$instructions" = "$(grep -c '^I' lackey) instructions" ] || fail "prof istat: $instructions"

# The same with other buffers, through gdbserver, and by blocks, which have no memory.
for how in --buffer=0 --buffer=1K --no-pin --gdbserver; do
  traced other $how
  prof itrace --lackey other | sed -E '/ [0-9a-f]{9,},/d' >listed_other
  sed -E '/ [0-9a-f]{9,},/d' listed | cmp -s - listed_other || fail "$how: $(sed -E '/ [0-9a-f]{9,},/d' listed | diff - listed_other | head -n 5)"
done
traced blocks --blocks
prof itrace --lackey blocks | cmp -s - <(grep '^I' listed) || fail "--blocks: $(prof itrace --lackey blocks | diff - <(grep '^I' listed) | head -n 5)"

# A repeated instruction is one, and stores all of it.
for how in --buffer=64K --blocks; do
  run timeout $forever prof trace $how -o repeated.trace -- ./repeated
  [ "$(prof itrace repeated.trace | grep -c 'rep stosb')" = 1 ] || fail "$how: rep: $(prof itrace repeated.trace | grep -c 'rep stosb')"
done

# A program with libraries: as many instructions of its own functions as callgrind counts in them.
cat >sums.c <<'END'
#include <stdio.h>
__attribute__((noinline)) static long square(long n) { return n * n; }
__attribute__((noinline)) static long sums(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += i % 3 ? square(i) : i;
  return sum;
}
int main(void) {
  printf("%ld\n", sums(300));
  return 4;
}
END
compile sums sums.c -g -O1 -fno-stack-protector
valgrind --tool=callgrind --toggle-collect=sums --callgrind-out-file=callgrind ./sums >printed 2>/dev/null
for how in --buffer=4K --blocks; do
  run timeout $forever prof trace $how -o sums.trace -- ./sums
  [ "$status" = 4 ] && cmp -s stdout printed && [ ! -s stderr ] || fail "sums: status $status, $(cat stdout stderr)"
  prof istat --json sums.trace >json
  count=$(jq '[.functions[] | select(.function == "sums" or .function == "square") | .instructions] | add' json)
  [ "$count" = "$(sed -n 's/^summary: //p' callgrind)" ] || fail "$how: sums has $count instructions, not $(grep ^summary callgrind)"
done

# Signals, threads and processes: what the program does is what it does by itself. A handler's instructions are in the trace.
cat >much.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int handled;
__attribute__((noinline)) static void handle(int signal) { handled += signal == SIGALRM ? 10 : 1; }
static void *count(void *n) { return (char *)n + handled; }
int main(int argc, char **argv) {
  if (argc > 1) return 5;
  signal(SIGUSR1, handle);
  signal(SIGALRM, handle);
  raise(SIGUSR1);
  struct itimerval soon = {{0, 0}, {0, 1000}};
  sigset_t none, alarm;
  sigemptyset(&none);
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
  sigsuspend(&none);
  pthread_t threads[2];
  long sum = 0;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, (void *)(long)i);
  for (int i = 0; i < 2; ++i) {
    void *one;
    pthread_join(threads[i], &one);
    sum += (long)one;
  }
  struct iovec parts[] = {{"parts ", 6}, {"of a line\n", 10}};
  writev(1, parts, 2);
  int status = 0;
  pid_t child = fork();
  if (child == 0) execl(argv[0], argv[0], "again", (char *)NULL);
  waitpid(child, &status, 0);
  printf("%d %ld %d\n", handled, sum, WEXITSTATUS(status));
  fflush(stdout);
  kill(getpid(), SIGTERM);
  for (;;) pause();
}
END
compile much much.c -O1 -static
for how in --buffer=64K --blocks --follow-forks --gdbserver "--gdbserver --follow-forks"; do
  # shellcheck disable=SC2086 # a list of words
  { timeout $forever prof trace $how -o much.trace -- ./much >stdout 2>stderr; } 2>/dev/null
  status=$?
  [ "$(cat stdout)" = "parts of a line
11 23 5" ] && [ ! -s stderr ] || fail "much $how: $(cat stdout stderr)"
  [ "$status" = 143 ] || fail "much $how: status $status"
  prof istat --json much.trace >json
  jq -e '[.functions[] | select(.function == "handle" or .function == "count")] | length == 2' json >/dev/null || fail "much $how: no handler"
  threads=3
  [[ $how != *--follow-forks ]] || threads=4
  [ "$(prof itrace much.trace | cut -f 1 | sort -u | wc -l)" = $threads ] ||
    fail "much $how: not $threads threads but $(prof itrace much.trace | cut -f 1 | sort -u | wc -l)"
  prof itrace --function count much.trace | wc -l >>counted
done

[ "$(sort -u counted | wc -l)" = 1 ] && [ "$(head -n 1 counted)" -gt 5 ] || fail "much: instructions of count(): $(paste -s counted)"

# Processes that a program makes: by vfork, by fork, and one that outlives its parent. Whoever steps them, each runs as many
# instructions of work().
cat >children.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
volatile int turns;
__attribute__((noinline)) static int work(int n) {
  while (turns < n) ++turns;
  return turns;
}
int main(int argc, char **argv) {
  if (argc > 1) return work(700) != 700;
  int ends[2], status = 0;
  if (pipe(ends) != 0) return 9;
  pid_t child = vfork();
  if (child == 0) {
    execl(argv[0], argv[0], "again", (char *)NULL);
    _exit(8);
  }
  if (waitpid(child, &status, 0) != child || status != 0) return 7;
  if (fork() == 0) _exit(work(400) & 1);
  wait(&status);
  if (fork() == 0) {
    close(ends[1]);
    char unused;
    _exit(read(ends[0], &unused, 1) != 0 || work(300) != 300);
  }
  return work(100) == 100 ? 6 : 5;
}
END
compile children children.c -O1 -static
for how in --buffer=64K --gdbserver; do
  run timeout $forever prof trace $how --follow-forks -o children.trace -- ./children
  [ "$status" = 6 ] && [ ! -s stderr ] || fail "children $how: status $status, $(cat stderr)"
  prof itrace --function work children.trace | cut -f 1 | sort | uniq -c | awk '{ print $1 }' | sort -n >turns$how
done
[ "$(wc -l <turns--gdbserver)" = 4 ] && cmp -s turns--gdbserver turns--buffer=64K || fail "children: $(paste turns--*)"
run timeout $forever prof trace --gdbserver --follow-forks --limit 100K -o children.trace -- ./children
[ "$status" = 6 ] && grep -q "takes no more" stderr || fail "children --limit: status $status, $(cat stderr)"

# A limit ends the trace, not the program.
run timeout $forever prof trace --limit 2K -o limited -- ./sums
[ "$status" = 4 ] && cmp -s stdout printed || fail "--limit: status $status, $(cat stdout)"
[ "$(cat stderr)" = "prof: limited: takes no more; the program went on without being traced" ] || fail "--limit: $(cat stderr)"
[ "$(stat -c %s limited)" -le 2048 ] || fail "--limit: $(stat -c %s limited) bytes"

# What cannot be.
for arguments in "" "-o x" "./sums" "-o x --buffer 5 ./sums" "-o x --buffer 2M ./sums" "-o x --nonsense ./sums" "-o x --gdbserver --blocks ./sums" \
  "-o x --target :1 ./sums" "-o" "-o x --limit y ./sums"; do
  # shellcheck disable=SC2086 # a list of words
  run prof trace $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof trace $arguments: $status $(cat stderr)"
done
for arguments in "-o x ./nothing" "-o x --gdbserver ./nothing" "-o /nowhere/x ./sums" "-o x --target localhost:1" "-o x --gdbserver=localhost:1"; do
  # shellcheck disable=SC2086 # a list of words
  run timeout $forever prof trace $arguments
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof trace $arguments: $status $(cat stderr)"
done
