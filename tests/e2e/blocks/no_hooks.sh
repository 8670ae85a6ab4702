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
counts static 4 false
CC=musl-gcc compile musl program.c -O1 -g
counts musl 4 false
compile cloning program.c -O1 -g -DBY_CLONE
counts cloning 3 true
compile timers program.c -O1 -g -DBY_TIMER
counts timers 3 true
# A static program has all system calls that make threads in itself: these share their maker's thread-local storage, or
# have storage of their own.
compile cloning-static program.c -O1 -g -DBY_CLONE -static
counts cloning-static 3 false
compile timers-static program.c -O1 -g -DBY_TIMER -static
counts timers-static 3 false
CC=musl-gcc compile cloning-musl program.c -O1 -g -DBY_CLONE -static
counts cloning-musl 3 false
# Many such, side by side and one after the other: what one had that has ended is another's, so the profile does not grow.
cat >strangers.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
static volatile int sink;
__attribute__((noipa)) void step(void) { sink = 1; }
static int work(void *unused) {
  for (int i = 0; i < 1000; i++) step();
  return 0;
}
int main(void) {
  enum { AT_ONCE = 8 };
  char *stacks = malloc(AT_ONCE << 16);
  for (int round = 0; round < 100; round++) {
    int ids[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) ids[i] = clone(work, stacks + ((i + 1) << 16), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, 0);
    for (int i = 0; i < AT_ONCE; i++) waitpid(ids[i], 0, 0);
  }
}
C
for CC in gcc musl-gcc; do
  compile strangers strangers.c -O1 -g -static
  rewrite strangers -b --no-hooks
  profiled strangers
  run prof strangers.prof strangers.profiles/prof.*
  [ "$status" = 0 ] && [ "$(column Calls step)" = 800000 ] && [ "$(column Calls work)" = 800 ] || fail "strangers, $CC: $(cat stdout stderr)"
  [ "$(stat -c %s strangers.profiles/prof.*)" -lt 5000000 ] || fail "strangers, $CC: a profile of $(stat -c %s strangers.profiles/prof.*) bytes"
done
CC=gcc

# The arguments of clone3 are gone when the thread begins.
cat >gone.c <<'C'
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
static long make_thread(struct clone_args *arguments) {
  long result;
  __asm__ volatile("mov $435, %%eax; mov $88, %%esi; syscall; test %%rax, %%rax; jnz 1f; mov $60, %%eax; xor %%edi, %%edi; syscall; hlt; 1:"
                   : "=a"(result) : "D"(arguments) : "rsi", "rcx", "r11", "memory");
  return result;
}
int main(void) {
  static int running;
  char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 100; i++) {
    struct clone_args *arguments = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arguments->flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    arguments->child_tid = (uintptr_t)&running;
    arguments->stack = (uintptr_t)stack;
    arguments->stack_size = 65536;
    running = 1;
    if (make_thread(arguments) < 0) return 1;
    munmap(arguments, 4096);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) sched_yield();
  }
}
C
compile gone gone.c -O1 -g -static
rewrite gone -b --no-hooks
profiled gone

# A function that makes one, and does not decode.
cat >damaged.c <<'C'
void make_thread(void);
__asm__(".text\n.globl make_thread\n.type make_thread, @function\nmake_thread: mov $56, %eax; syscall; ret\n.byte 0x06, 0x07, 0x06\n.size make_thread, .-make_thread");
int main(int argc, char **argv) { if (argc > 1) make_thread(); return 0; }
C
compile damaged damaged.c -O1 -static
rewrite damaged -b --no-hooks
[ "$(jq .counters_locked damaged.report)" = true ] || fail "a function that does not decode: the counters are not locked"

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
