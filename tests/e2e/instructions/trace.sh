# prof trace: the instructions and the memory of a program that is stepped are those that valgrind sees, and the program does not
# notice.
. "${0%/*}/../common.inc"

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
for how in --buffer=64K --blocks --follow-forks; do
  { timeout $forever prof trace $how -o much.trace -- ./much >stdout 2>stderr; } 2>/dev/null
  status=$?
  [ "$(cat stdout)" = "parts of a line
11 23 5" ] && [ ! -s stderr ] || fail "much $how: $(cat stdout stderr)"
  [ "$status" = 143 ] || fail "much $how: status $status"
  prof istat --json much.trace >json
  jq -e '[.functions[] | select(.function == "handle" or .function == "count")] | length == 2' json >/dev/null || fail "much $how: no handler"
  threads=3
  [ $how != --follow-forks ] || threads=4
  [ "$(prof itrace much.trace | cut -f 1 | sort -u | wc -l)" = $threads ] ||
    fail "much $how: not $threads threads but $(prof itrace much.trace | cut -f 1 | sort -u | wc -l)"
done

# A thread, and processes that a program makes: by vfork, by fork, and one that outlives its parent. Whoever steps them, each
# runs as many instructions of work(). Without libc, since gdbserver is slow.
cat >children.c <<'END'
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d) {
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return number;
}
int work(int n) {
  for (volatile int turns = 0; turns < n;) ++turns;
  return n;
}
static int is_running = 1;
void in_thread(void) {
  work(200);
  call(SYS_exit, 0, 0, 0, 0);
}
static void run_thread(void) {
  static char stack[4096] __attribute__((aligned(16)));
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
  register long fourth __asm__("r10") = (long)&is_running;
  long number = SYS_clone;
  __asm__ volatile(
      "syscall\n"
      "test %%rax, %%rax\n"
      "jnz 1f\n"
      "call in_thread\n"
      "1:"
      : "+a"(number)
      : "D"(flags), "S"(stack + sizeof stack), "d"(0), "r"(fourth)
      : "rcx", "r11", "memory");
  while (*(volatile int *)&is_running) call(SYS_futex, (long)&is_running, FUTEX_WAIT, 1, 0);
}
static int wait_for(long child) {
  int status = 1;
  return call(SYS_wait4, child, (long)&status, 0, 0) != child || status;
}
__attribute__((used)) static int begin(long *words) {
  char **argv = (char **)(words + 1), *again[] = {argv[0], "again", 0};
  if (words[0] > 1) return work(700) != 700;
  run_thread();
  int ends[2];
  call(SYS_pipe, (long)ends, 0, 0, 0);
  long child = call(SYS_vfork, 0, 0, 0, 0);
  if (child == 0) {
    call(SYS_execve, (long)argv[0], (long)again, 0, 0);
    call(SYS_exit_group, 8, 0, 0, 0);
  }
  if (wait_for(child)) return 7;
  child = call(SYS_fork, 0, 0, 0, 0);
  if (child == 0) return work(400) != 400;
  if (wait_for(child)) return 8;
  if (call(SYS_fork, 0, 0, 0, 0) == 0) {
    call(SYS_close, ends[1], 0, 0, 0);
    char unused;
    return call(SYS_read, ends[0], (long)&unused, 1, 0) != 0 || work(300) != 300;
  }
  return work(100) == 100 ? 6 : 5;
}
__asm__(
    ".globl _start\n"
    "_start: xor %ebp, %ebp\n"
    "mov %rsp, %rdi\n"
    "and $-16, %rsp\n"
    "call begin\n"
    "mov %eax, %edi\n"
    "mov $231, %eax\n"
    "syscall\n");
END
compile children children.c -O1 -static -nostdlib -fno-stack-protector
for how in --buffer=64K --gdbserver; do
  run timeout $forever prof trace $how --follow-forks -o children.trace -- ./children
  [ "$status" = 6 ] && [ ! -s stderr ] || fail "children $how: status $status, $(cat stderr)"
  prof itrace --function work children.trace | cut -f 1 | sort | uniq -c | awk '{ print $1 }' | sort -n >turns$how
done
[ "$(wc -l <turns--gdbserver)" = 5 ] && cmp -s turns--gdbserver turns--buffer=64K || fail "children: $(paste turns--*)"
# Without what they do, when it is not to be followed; and when the trace takes no more.
run timeout $forever prof trace --gdbserver -o children.trace -- ./children
[ "$status" = 6 ] && [ ! -s stderr ] || fail "children --gdbserver: status $status, $(cat stderr)"
[ "$(prof itrace --function work children.trace | cut -f 1 | sort -u | wc -l)" = 2 ] || fail "children --gdbserver: not two threads"
run timeout $forever prof trace --gdbserver --follow-forks --limit 2K -o children.trace -- ./children
[ "$status" = 6 ] && grep -q "has reached the size set by --limit" stderr || fail "children --limit: status $status, $(cat stderr)"

# A limit ends the trace, not the program.
run timeout $forever prof trace --limit 2K -o limited -- ./sums
[ "$status" = 4 ] && cmp -s stdout printed || fail "--limit: status $status, $(cat stdout)"
[ "$(cat stderr)" = "prof: limited: has reached the size set by --limit; what the program did after that is not in it" ] || fail "--limit: $(cat stderr)"
[ "$(stat -c %s limited)" -le 2048 ] || fail "--limit: $(stat -c %s limited) bytes"

# What cannot be.
for arguments in "" "-o x" "./sums" "-o x --buffer 5 ./sums" "-o x --buffer 2M ./sums" "-o x --nonsense ./sums" "-o x --gdbserver --blocks ./sums" \
  "-o x --target :1 ./sums" "-o" "-o x --limit y ./sums"; do
  # shellcheck disable=SC2086 # a list of words
  run prof trace $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof trace $arguments: $status $(cat stderr)"
done
run prof trace -o x --gdbserver --blocks ./sums
[ "$(cat stderr)" = "prof: --blocks is not supported with gdbserver" ] || fail "--gdbserver --blocks: $(cat stderr)"
for arguments in "-o x ./nothing" "-o x --gdbserver ./nothing" "-o /nowhere/x ./sums" "-o x --target localhost:1" "-o x --gdbserver=localhost:1"; do
  # shellcheck disable=SC2086 # a list of words
  run timeout $forever prof trace $arguments
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof trace $arguments: $status $(cat stderr)"
done
