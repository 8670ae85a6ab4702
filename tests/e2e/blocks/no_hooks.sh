# profld -b --no-hooks: threads and children lose no counts, however they are made; and there are samples as well.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#define TIMES 2000000
volatile long sum;
__attribute__((noipa)) void step(void) {
  for (long i = 0; i < TIMES; i++)
    if (i & 1) sum = i; // each time
}
#ifdef BY_CLONE
static int work(void *unused) { step(); return 0; }
int main(void) {
  int ids[2];
  for (int i = 0; i < 2; i++) {
    char *stack = malloc(1 << 16);
    ids[i] = clone(work, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, 0);
  }
  step();
  for (int i = 0; i < 2; i++) waitpid(ids[i], 0, 0);
}
#elif defined BY_TIMER
static volatile int done;
static void work(union sigval unused) { step(); __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST); }
int main(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = work};
  timer_t timers[2];
  for (int i = 0; i < 2; i++) {
    timer_create(CLOCK_MONOTONIC, &event, &timers[i]);
    timer_settime(timers[i], 0, &(struct itimerspec){.it_value = {0, 1}}, 0);
  }
  step();
  while (done < 2) usleep(1000);
}
#else
static void *work(void *unused) { step(); return unused; }
static int work_of_c11(void *unused) { step(); return 5; }
int main(void) {
  pthread_t thread;
  thrd_t other;
  int result;
  pthread_create(&thread, 0, work, 0);
  thrd_create(&other, work_of_c11, 0);
  pid_t child = fork();
  step();
  if (child == 0) _exit(0);
  pthread_join(thread, 0);
  thrd_join(other, &result);
  waitpid(child, 0, 0);
  return result != 5;
}
#endif
C
line=$(grep -n '// each time' program.c | cut -d : -f 1)

# counts PROGRAM THREADS LOCKED [PROFLD OPTION...]: the loop ran in so many threads and processes.
counts() {
  local program=$1 threads=$2 locked=$3
  shift 3
  rewrite "$program" -b --no-hooks "$@"
  [ "$(jq .counters_locked "$program.report")" = "$locked" ] || fail "$program $*: counters_locked is $(jq .counters_locked "$program.report"), not $locked"
  profiled "$program"
  run prof --annotate=step "$program.prof" "$program.profiles"/prof.*
  [ "$status" = 0 ] || fail "$program $*: prof --annotate: $(cat stderr)"
  grep -qP "^ *$((threads * 2000000))( +[-.0-9]+[mun]?s)? +$line\t" stdout || fail "$program $*: not in $threads threads: $(grep 'each time' stdout)"
}

compile pie program.c -O1 -g -fPIE -pie
counts pie 4 false
readelf -d pie.prof | grep -q 'NEEDED.*libprof-sampler\.so' || fail "the runtime is $(readelf -d pie.prof | grep NEEDED)"
[ "$(jq .type <(prof --json pie.prof pie.profiles/prof.* 2>/dev/null))" = '"addresses"' ] || fail "no samples: $(prof pie.prof pie.profiles/prof.* 2>&1)"
counts pie 4 true --libprof "$BUILD/lib/libprof.so"
compile no-pie program.c -O1 -g -fno-pie -no-pie
counts no-pie 4 false
compile static program.c -O1 -g -static
counts static 4 true
CC=musl-gcc compile musl program.c -O1 -g
counts musl 4 false
compile cloning program.c -O1 -g -DBY_CLONE
counts cloning 3 true
compile timers program.c -O1 -g -DBY_TIMER
counts timers 3 true
# The only system call that makes a thread is in code that belongs to no known function.
cat >hidden.c <<'C'
__attribute__((noipa)) void step(void) {
  static volatile long sum;
  for (long i = 0; i < 2000000; i++)
    if (i & 1) sum = i; // each time
}
static volatile int done;
static long stack[4096];
extern void (*const make_thread)(void (*work)(void), long *stack);
extern void (*const leave)(void);
static void work(void) {
  step();
  done = 1;
  for (;;) __asm__ volatile("pause");
}
void start(void) {
  make_thread(work, stack + 4096);
  step();
  while (!done) __asm__ volatile("pause");
  leave();
}
__asm__(".globl _start\n_start: call start\n hlt\n"
        ".p2align 4\n.Lmake: mov %rdi, -8(%rsi); sub $8, %rsi; mov $0x50f00, %edi; xor %edx, %edx; xor %r10d, %r10d; xor %r8d, %r8d\n"
        "mov $56, %eax; syscall; test %eax, %eax; jnz 1f; pop %rax; call *%rax; 1: ret\n"
        ".p2align 4\n.Lleave: mov $231, %eax; xor %edi, %edi; syscall; hlt\n"
        ".section .rodata\n.globl make_thread, leave\nmake_thread: .quad .Lmake\nleave: .quad .Lleave\n.text");
C
line=$(grep -n '// each time' hidden.c | cut -d : -f 1)
compile hidden hidden.c -O1 -g -static -nostdlib -no-pie -fno-stack-protector
counts hidden 2 true
line=$(grep -n '// each time' program.c | cut -d : -f 1)

# Calls follow from the counts of blocks, and gprof has its report: calls, arcs of direct calls, times.
counts pie 4 false
run prof pie.prof pie.profiles/prof.*
[ "$(column Calls step)" = 4 ] && [ "$(column Calls main)" = 1 ] && [ -z "$(column Total step | tr -d -)" ] || fail "calls: $(cat stdout)"
run prof --call-sites pie.prof pie.profiles/prof.*
grep -qP "^ +2\tmain program.c:[0-9]+ -> step$" stdout || fail "call sites: $(cat stdout)"
prof -g gmon.out pie.prof pie.profiles/prof.* 2>prof.log || fail "prof -g: $(cat prof.log)"
gprof -b -q pie gmon.out >graph 2>gprof.err && [ ! -s gprof.err ] || fail "gprof: $(cat gprof.err)"
grep -qE ' 2/4 +main ' graph && grep -qE ' 1/4 +work ' graph && grep -qE ' 1/4 +work_of_c11 ' graph || fail "gprof: $(cat graph)"
gprof -b -p pie gmon.out >theirs && prof gprof -b -p pie pie.profiles/prof.* >ours 2>/dev/null
cmp -s theirs ours || fail "prof gprof: $(diff theirs ours | head -n 5)"

rewrite pie -b
[ "$(jq .counters_locked pie.report)" = false ] || fail "with hooks, counters are locked"
