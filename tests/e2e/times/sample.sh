# PROFTYPE=sample: calls are counted, and times are those of samples. By the kernel's clock of its own time the program measures
# what its functions take; samples come by that clock as well, so however busy the machine is, they agree.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "thread_timer.h"
#define KEPT __attribute__((noipa))
volatile unsigned long sum;
static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
#define NOW now(CLOCK_THREAD_CPUTIME_ID)
static char bytes[1 << 20];
KEPT void step(void) {
  for (int i = 0; i < 20000; i++) sum += i;
}
static void tell(const char *function, double begin) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  const double took = NOW - begin;
  pthread_mutex_lock(&one);
  printf("took %s %f\n", function, took);
  pthread_mutex_unlock(&one);
}
KEPT void burn(void) {
  const double begin = NOW;
  for (const int end = timer_ticks + 50; timer_ticks < end;)
    for (int i = 0; i < 100000; i++) sum += i;
  tell("burn", begin);
}
KEPT void library(void) {
  const double begin = NOW;
  for (const int end = timer_ticks + 50; timer_ticks < end;) sum += strlen(bytes);
  tell("library", begin);
}
KEPT void kernel(void) {
  const double begin = NOW;
  const int zeros = open("/dev/zero", O_RDONLY);
  char *page = malloc(sizeof bytes);
  for (const int end = timer_ticks + 50; timer_ticks < end;) sum += read(zeros, page, sizeof bytes);
  close(zeros);
  tell("kernel", begin);
}
KEPT void *thread(void *unused) {
  start_thread_timer();
  burn();
  return NULL;
}
KEPT void blocked(void) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  for (const double end = NOW + 0.3; NOW < end;)
    for (int i = 0; i < 300000; i++) sum += i;
  sigprocmask(SIG_SETMASK, &before, NULL);
}
volatile int came, interrupted;
void handle(int number) { ++came; }
// Things that programs do with all signals at once. What they see is printed.
static void put_all_back(void) {
  for (int i = 1; i < 65; ++i)
    if (i != SIGRTMIN && i != SIGKILL && i != SIGSTOP && i != 32 && i != 33 && signal(i, SIG_DFL) != SIG_DFL)
      printf("signal %d had a handler\n", i);
  for (int i = 32; i < 34; ++i)
    if (signal(i, SIG_DFL) != SIG_ERR || errno != EINVAL) printf("signal %d is to be had\n", i);
}
static void handle_all(void) {
  for (int i = 1; i < 65; ++i)
    if (i != SIGRTMIN) sigaction(i, &(struct sigaction){.sa_handler = handle}, NULL);
}
static void wait_for_any(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  sigdelset(&all, SIGRTMIN);
  const int descriptor = signalfd(-1, &all, SFD_NONBLOCK);
  for (int i = 0; i < 50; ++i) {
    siginfo_t info;
    for (int k = 0; k < 100; ++k) step();
    const int number = sigtimedwait(&all, &info, &(struct timespec){0, 1000000});
    if (number > 0 || errno != EAGAIN) printf("waited for signal %d, %s\n", number, strerror(errno));
    struct signalfd_siginfo found;
    if (read(descriptor, &found, sizeof found) > 0) printf("read signal %d\n", found.ssi_signo);
    if (sigpending(&before) || (sigdelset(&before, SIGRTMIN), !sigisemptyset(&before))) printf("signals are pending\n");
  }
  close(descriptor);
  raise(SIGUSR1);
  if (sigwaitinfo(&all, NULL) != SIGUSR1) printf("another signal came\n");
  sigemptyset(&before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
KEPT void *cancelled(void *unused) {
  for (;;) pause();
}
static void cancel(void) {
  pthread_t other;
  void *result;
  burn();
  pthread_create(&other, NULL, cancelled, NULL);
  pthread_cancel(other);
  if (pthread_join(other, &result) || result != PTHREAD_CANCELED) printf("it was not cancelled\n");
}
static void take_by_system_call(void) {
  unsigned long words[4];
  sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL);
  syscall(SYS_rt_sigaction, SIGUSR1, NULL, words, 8);
  syscall(SYS_rt_sigaction, 32, words, NULL, 8);
  for (int i = 0; i < 1000; ++i) syscall(SYS_tgkill, getpid(), gettid(), 32);
}
KEPT void deep(int n) {
  volatile char room[64];
  room[0] = 1;
  if (n) deep(n - 1);
  sum += room[0];
}
static void on_signal_stack(void) {
  const size_t size = getauxval(AT_MINSIGSTKSZ) + 8192;
  sigaltstack(&(stack_t){.ss_sp = malloc(size), .ss_size = size}, NULL);
  for (int i = 0; i < 20000; ++i) deep(200);
}
static void many_threads(void) {
  for (int i = 0; i < 300; ++i) {
    pthread_t other;
    pthread_create(&other, NULL, (void *(*)(void *))step, NULL);
    pthread_join(other, NULL);
  }
  FILE *timers = fopen("/proc/self/timers", "r");
  char line[200];
  int found = 0;
  while (timers && fgets(line, sizeof line, timers)) found += !strncmp(line, "ID:", 3);
  printf("%s timers\n", found < 100 ? "few" : "many");
}
static void give_up_returning(void) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {4, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) printf("no filter\n");
  for (int i = 0; i < 20000; ++i) step();
}
KEPT void polls(void) {
  for (int i = 0; i < 200; ++i) {
    step();
    if (poll(NULL, 0, 1) < 0) ++interrupted;
  }
}
int main(int argc, char **argv) {
  const char *what = argv[1];
  memset(bytes, 'x', sizeof bytes - 1);
  const double begin = NOW;
  if (!strcmp(what, "exec") && argc < 3) {
    for (int i = 0; i < 3000; ++i) step();
    execl("/proc/self/exe", argv[0], "exec", "again", NULL);
  }
  const int is_timed = strcmp(what, "polls") && strcmp(what, "returning");
  if (is_timed) start_thread_timer();
  if (!strcmp(what, "parts")) {
    for (int i = 0; i < 1000; ++i) step();
    burn();
    library();
    kernel();
  } else if (!strcmp(what, "threads")) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  } else if (!strcmp(what, "fork")) {
    burn();
    fflush(stdout);
    if (fork() == 0) {
      start_thread_timer();
      burn();
      exit(0);
    }
    int status;
    wait(&status);
  } else if (!strcmp(what, "blocked")) {
    blocked();
    burn();
  } else if (!strcmp(what, "polls")) {
    polls();
  } else if (!strcmp(what, "put back")) {
    put_all_back();
    burn();
  } else if (!strcmp(what, "handle")) {
    handle_all();
    burn();
  } else if (!strcmp(what, "wait")) {
    wait_for_any();
    burn();
  } else if (!strcmp(what, "cancel")) {
    cancel();
    burn();
  } else if (!strcmp(what, "take")) {
    take_by_system_call();
    burn();
  } else if (!strcmp(what, "signal stack")) {
    on_signal_stack();
  } else if (!strcmp(what, "many")) {
    many_threads();
  } else if (!strcmp(what, "returning")) {
    give_up_returning();
  } else {
    burn();
  }
  printf("%d interrupted, %d signals\n", interrupted, came);
  if (!strcmp(what, "threads") || !strcmp(what, "many")) return 0;
  tell("all", begin);
}
C
export PROFTYPE=sample

# sampled WHAT...: runs the program; the number of samples and the seconds that they stand for, with those in hooks, are in
# the file `samples`, for each function in each that called it, and "all".
sampled() {
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run "${by[@]}" "./$program.prof" "$@"
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$*: status $status, says $(cat stderr)"
  prof --json "$program.prof" profiles/prof.* >json || fail "$*: prof fails"
  prof "$program.prof" profiles/prof.* >view 2>said || fail "$*: prof fails"
  [ "$(jq -r .type json)" = sample ] && [ "$(jq .sample_period_ns json)" = 4000000 ] || fail "$*: $(head -c 200 json)"
  jq -r '(.functions | map(.name)) as $names | .tsc_hz as $hz | .tree as $tree |
    ($tree[] | "\(if .parent < 0 then "-" else $names[$tree[.parent].function] end) \($names[.function]) \(.self_cycles / $hz)"),
    "- all \(([$tree[].self_cycles] | add) / $hz + .hook_samples * 0.004)"' json >samples
}
# seconds PARENT FUNCTION LOW HIGH: PARENT may be any (.).
seconds() {
  awk -v parent="$1" -v function_="$2" -v low="$3" -v high="$4" '
    (parent == "." || $1 == parent) && $2 == function_ { sum += $3 }
    END { if (sum < low || sum > high) { print parent, function_, "has", sum + 0, "s, not", low, "to", high; exit 1 } }' samples >wrong ||
    fail "$what: $(cat wrong); $(paste -sd ';' samples) $(paste -sd ';' stdout)"
}
# took FUNCTION PARENT CHILD [PART]: CHILD of PARENT has all the time that FUNCTION took, or that part of it.
took() {
  local low high
  read -r low high <<<"$(awk -v function_="$1" -v part="${4:-0.93}" '$1 == "took" && $2 == function_ { n++; sum += $3 } END { print sum * part - n * 0.02, sum * 1.05 + n * 0.02 }' stdout)"
  seconds "$2" "$3" "$low" "$high"
}

# quietly: the program has noticed nothing.
quietly() {
  [ "$(grep -v '^took' stdout)" = '0 interrupted, 0 signals' ] || fail "$what: the program prints $(grep -v '^took' stdout)"
}

by=()
program=pie
compile pie program.c -O1 -fPIE -pie
rewrite pie

what="parts"
sampled parts
quietly
[ "$(jq '[.functions[] | select(.name == "step").calls] | add' json)" = 1000 ] || fail "$what: calls of step: $(cat view)"
grep -Eq '^prof: .*: [0-9]+ samples, one every 4 ms on a processor(; [0-9]+ signals brought them, because of other load)?(; [0-9]+ % of them in hooks, left out)?$' said ||
  fail "$what: says $(cat said)"
[ "$(jq '.sample_signals > 0' json)" = true ] || fail "$what: no signals: $(head -c 300 json)"
took burn main burn
took library strlen '[libraries]' # imported functions are nodes
took kernel read '[kernel]' 0.7
grep -qP '^ *(~?[0-9.]+|-) +(0|[0-9.-]+[num]?s) +- +- +-\t\[kernel\]$' view || fail "$what: $(cat view)"
prof -d pie.prof profiles/prof.* 2>/dev/null | grep -qE $'^[.\t ]+\\[libraries\\]:[0-9.-]+$' || fail "$what: $(prof -d pie.prof profiles/prof.* 2>&1)"
took all - all

# posix_spawn leaves the signals of the C library's own ignored in its children, and so make does.
cat >ignoring.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  const struct { void *handler; unsigned long flags, restorer, mask; } ignored = {SIG_IGN, 0, 0, 0};
  for (int i = 32; i <= 33; i++)
    if (syscall(SYS_rt_sigaction, i, &ignored, NULL, 8) != 0) return 99;
  execv(argv[1], argv + 1);
  return 98;
}
C
compile ignoring ignoring.c
by=(./ignoring)
what="signals that are ignored"
sampled parts
quietly
took burn main burn
took all - all
by=()

what="parts, without imports"
rewrite pie --no-imports
sampled parts
quietly
took library library '[libraries]'
took kernel kernel '[kernel]' 0.7
took all - all
rewrite pie

what="threads"
sampled threads
quietly
took burn thread burn

what="fork"
sampled fork
quietly
[ "$(find profiles -name 'prof.*' | wc -l)" = 2 ] || fail "$what: $(ls profiles)"
took burn . burn

for what in blocked "put back" handle wait exec; do
  sampled "$what"
  quietly
  [ "$what" = exec ] || took all - all
done

what="polls"
sampled polls
quietly

what="signal stack"
sampled "$what"
quietly
took all - all

what="many"
sampled many
grep -qx 'few timers' stdout || fail "$what: $(cat stdout)"

# The C library takes the signal: what came before is there.
what="cancel"
sampled cancel
quietly
grep -q 'the program took the signal that samples use, as pthread_cancel does' said || fail "$what: prof says $(cat said)"
took burn main burn 0.4

# The program takes the signal itself, by syscall.
what="take"
sampled take
grep -qx '0 interrupted, 1000 signals' stdout || fail "$what: $(cat stdout)"
grep -q 'the program took the signal that samples use' said || fail "$what: prof says $(cat said)"
seconds - all 0 0.03

# No handler can return any more.
what="returning"
sampled returning
quietly
grep -q 'the program took the signal that samples use' said || fail "$what: prof says $(cat said)"

# without_times WHAT: no samples, but all calls, and no time is shown.
without_times() {
  seconds - all 0 0
  [ "$(jq '[.functions[] | select(.name == "step").calls] | add' json)" = "$1" ] || fail "$what: calls of step: $(cat view)"
  grep -qP '^ *% +Calls\tName$' view || fail "$what: shows times: $(cat view)"
}

# A timer takes one of the signals that may be queued. The program's own come first.
what="few signals"
echo 'ulimit -i 1; exec "$@"' >limited
by=(bash limited)
sampled polls
quietly
without_times 200
grep -q 'the time of some threads is missing' said || fail "$what: prof says $(cat said)"

# The kernel refuses a timer (timer_create is 222).
compile launch "$tests/libprof/launch.c" -O1
by=(./launch 222 11 --)
what="no timer"
sampled polls
quietly
without_times 200
grep -q 'the time of some threads is missing' said || fail "$what: prof says $(cat said)"

# In a static program the signal cannot be had.
by=()
program=static
compile static program.c -O1 -fno-pie -no-pie -static
rewrite static
what="static"
sampled parts
quietly
without_times 1000
grep -q 'no signal was free for samples, so there are no times' said || fail "$what: prof says $(cat said)"

# Nor does a copy without hooks, which samples itself (reading/true.sh), notice anything.
profld --no-hooks --libprof "$BUILD/lib/libprof-sampler.so" -o pie.sampling pie || fail "no copy without hooks"
for what in parts threads fork blocked "put back" handle wait exec polls "signal stack" cancel returning; do
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run ./pie.sampling "$what"
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "without hooks, $what: status $status, says $(cat stderr)"
  quietly
done

# musl keeps other signals than glibc, and has another use for 32: it puts that back to its default.
cat >musl.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sum;
// The program's own timer is looked at when those of the samples are.
static volatile int rings;
static void ring(int number) { ++rings; }
__attribute__((noipa)) void step(void) {
  for (int i = 0; i < 200000; i++) sum += i;
}
static void *steps(void *unused) {
  for (int i = 0; i < 500 || rings < 50; i++) step();
  return NULL;
}
static void *cancelled(void *unused) {
  for (;;) pause();
}
static void fire(union sigval unused) { step(); }
int main(void) {
  sigaction(SIGPROF, &(struct sigaction){.sa_handler = ring, .sa_flags = SA_RESTART}, NULL);
  setitimer(ITIMER_PROF, &(struct itimerval){{0, 4000}, {0, 4000}}, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fire};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &(struct itimerspec){{0, 20000000}, {0, 20000000}}, 0);
  pthread_t other;
  pthread_create(&other, NULL, steps, NULL);
  steps(NULL);
  pthread_join(other, NULL);
  timer_delete(timer);
  void *result;
  pthread_create(&other, NULL, cancelled, NULL);
  pthread_cancel(other);
  pthread_join(other, &result);
  steps(NULL);
  puts(result == PTHREAD_CANCELED ? "ended" : "not cancelled");
}
C
CC=musl-gcc compile musl musl.c -O1
rewrite musl
program=musl
what=musl
sampled
[ "$(cat stdout)" = ended ] || fail "$what: $(cat stdout)"
seconds . step 0.02 1000
grep -q 'the program took the signal that samples use, as pthread_cancel does' said || fail "$what: prof says $(cat said)"
profld --no-hooks --libprof "$BUILD/lib/libprof-sampler.so" -o musl.sampling musl || fail "no copy of musl"
PROFDIR=profiles run ./musl.sampling
[ "$status" = 0 ] && [ "$(cat stdout)" = ended ] && [ ! -s stderr ] || fail "$what, without hooks: status $status, says $(cat stdout stderr)"

# With other PROFTYPEs nothing of this is there: no handler, no timer.
cat >status.c <<'C'
#include <stdio.h>
#include <string.h>
int main(void) {
  char line[200];
  for (FILE *file = fopen("/proc/self/status", "r"); fgets(line, sizeof line, file);)
    if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4)) fputs(line, stdout);
  for (FILE *file = fopen("/proc/self/timers", "r"); file && fgets(line, sizeof line, file);) fputs(line, stdout);
}
C
compile status status.c -O1
rewrite status
for PROFTYPE in time elapsed adaptive count; do profiled status; done
