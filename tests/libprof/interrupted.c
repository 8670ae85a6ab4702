// interrupted OFFSET STEPS [fibers|deep|wide|swap|jump|leave|dig]: functions with hooks call one another in hundreds of
// contexts, or on the stacks of a few coroutines, or deeper than there are frames in a chunk, or thousands are called
// once each, while a tracer, this program's parent, sends a signal each time the runtime comes to the function at OFFSET
// in libprof.so, STEPS instructions later; with all but the first two, unless that is in the handler. The signal's
// handler calls functions in new contexts as well, with wide also functions that were not called before. Prints "calls
// NAME N", counted by the functions themselves, "signals N" and "jumps N".
//
//   swap     the functions run in two coroutines, and the handler goes on with the other one
//   jump     every few times the handler, when it has made its calls, leaves by siglongjmp
//   leave    the same with a handler that makes no calls
//   dig      as leave, and then functions that were not called before are called ever deeper on the stack

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../programs/one_processor.h"
#include "handler_calls.h"
#include "random_calls.h"

enum { FIBERS = 3, ROUNDS = 4 };
static ucontext_t resumer, fibers[FIBERS];
static char stacks[FIBERS][65536];
static long steps, resumes;
int step(int), resume(int);
HOOKED(step);
HOOKED(resume);
int step_body(int fiber) {
  steps++;
  swapcontext(&fibers[fiber], &resumer);
  return helper(fiber);
}
static void run_fiber(int fiber) {
  for (int i = 0; i < ROUNDS; i++) step(fiber);
}
int resume_body(int fiber) {
  resumes++;
  swapcontext(&resumer, &fibers[fiber]);
  return helper(fiber);
}
static void switch_stacks(void) {
  for (int i = 0; i < FIBERS; i++) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = stacks[i];
    fibers[i].uc_stack.ss_size = sizeof stacks[i];
    fibers[i].uc_link = &resumer;
    makecontext(&fibers[i], (void (*)(void))run_fiber, 1, i);
  }
  for (int round = 0; round <= ROUNDS; round++) {
    for (int i = 0; i < FIBERS; i++) resume(i);
  }
}

// Chains of calls, of which one ends with the last frame of a chunk; of four functions, for a longer recursion would be
// folded.
enum { SHORTEST = 165, LONGEST = 169, LEVELS = 4 };
static long levels[LEVELS];
int level0(int), level1(int), level2(int), level3(int);
HOOKED(level0);
HOOKED(level1);
HOOKED(level2);
HOOKED(level3);
static int deeper(int level, int (*next)(int), int depth) {
  levels[level]++;
  return depth > 1 ? next(depth - 1) + 1 : 1;
}
int level0_body(int depth) { return deeper(0, level1, depth); }
int level1_body(int depth) { return deeper(1, level2, depth); }
int level2_body(int depth) { return deeper(2, level3, depth); }
int level3_body(int depth) { return deeper(3, level0, depth); }

// Handlers that do not come back.
enum { BETWEEN_JUMPS = 7, SHALLOW = 4 };
static sigjmp_buf start;
static volatile int can_jump, makes_calls;
static long jumps, signals_of_leave;
static void jump_away(int signal_number) {
  static int n;
  signals_of_leave++;
  if (makes_calls) handle(signal_number);
  if (!can_jump || ++n % BETWEEN_JUMPS != 0) return;
  jumps++;
  siglongjmp(start, 1);
}
static void jump_about(int with_calls) {
  makes_calls = with_calls;
  signal(SIGUSR1, jump_away);
  left = 40;
  sigsetjmp(start, 1);
  can_jump = 1;
  while (left > 0) descend(SHALLOW);
  can_jump = 0;
}

// Handlers that come back later.
static volatile int is_done[2], current;
static void go_on_elsewhere(int signal_number) {
  handle(signal_number);
  const int from = current;
  if (is_done[!from]) return;
  current = !from;
  swapcontext(&fibers[from], &fibers[!from]);
}
static void run_until_nothing_is_left(int fiber) {
  step(fiber);  // both are known from now on
  while (left > 0) descend(SHALLOW);
  is_done[fiber] = 1;
}
static void swap_about(void) {
  left = 40;
  helper(0);  // the thread's own stack is known first
  for (int i = 0; i < 2; i++) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = stacks[i];
    fibers[i].uc_stack.ss_size = sizeof stacks[i];
    fibers[i].uc_link = &resumer;
    makecontext(&fibers[i], (void (*)(void))run_until_nothing_is_left, 1, i);
  }
  for (int i = 0; i < 2; i++) swapcontext(&resumer, &fibers[i]);
  signal(SIGUSR1, go_on_elsewhere);
  while (!is_done[0] || !is_done[1]) {
    current = is_done[0];
    swapcontext(&resumer, &fibers[current]);
  }
}

// Functions of 16 bytes.
#define CALLEES 3000
#define STRING_OF(x) #x
#define AS_STRING(x) STRING_OF(x)
asm(".text\n"
    ".balign 16\n"
    ".globl callees\n"
    ".type callees, @function\n"
    "callees:\n"
    ".rept " AS_STRING(CALLEES) "\n"
    ".balign 16\n"
    "        call *_profin@GOTPCREL(%rip)\n"
    "        call *_profout@GOTPCREL(%rip)\n"
    "        ret\n"
    ".endr\n"
    ".size callees, . - callees\n");
extern char callees[];
static atomic_long called;
static int call_next(void) {
  const long n = called++;
  if (n >= CALLEES) return called--, 0;
  ((void (*)(void))(callees + 16 * n))();
  return 1;
}
static void on_signal_anew(int signal_number) {
  on_signal(signal_number);
  for (int i = 0; i < 3; i++) call_next();
}

static long digs;
static volatile int at_a_time;
int dig(int);
HOOKED(dig);
int dig_body(int depth) {
  static int next;
  digs++;
  if (depth > 0) return dig(depth - 1) + 1;
  for (int i = 0; i < at_a_time && next < CALLEES; i++, called++) ((void (*)(void))(callees + 16 * next++))();
  return next < CALLEES;
}
static void dig_deeper(void) {
  enum { DEEPEST = 50, AT_A_TIME = 100 };
  static volatile int depth;
  signal(SIGUSR1, jump_away);
  dig(DEEPEST);  // these contexts are known from now on
  at_a_time = AT_A_TIME;
  sigsetjmp(start, 1);
  can_jump = 1;
  while (depth < DEEPEST && dig(++depth) > depth) {
  }
  can_jump = 0;
}

static int traced(const char* what) {
  ptrace(PTRACE_TRACEME, 0, 0, 0);
  raise(SIGSTOP);
  signal(SIGUSR1, strcmp(what, "wide") ? on_signal : on_signal_anew);
  if (!strcmp(what, "fibers")) {
    switch_stacks();
  } else if (!strcmp(what, "swap")) {
    swap_about();
  } else if (!strcmp(what, "jump") || !strcmp(what, "leave")) {
    jump_about(!strcmp(what, "jump"));
  } else if (!strcmp(what, "dig")) {
    dig_deeper();
  } else if (!strcmp(what, "deep")) {
    for (int depth = SHORTEST; depth <= LONGEST; depth++) level0(depth);
  } else if (!strcmp(what, "wide")) {
    while (call_next()) {
    }
  } else {
    left = 300;
    while (left > 0) descend(10);
  }
  printf("calls step %ld\ncalls resume %ld\ncalls callees %ld\ncalls dig %ld\n", steps, resumes, called, digs);
  for (int i = 0; i < LEVELS; i++) printf("calls level%d %ld\n", i, levels[i]);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  printf("calls handle %ld\ncalls helper %ld\nsignals %ld\n", handled, helped, handled + signals_of_leave);
  printf("jumps %ld\n", jumps);
  raise(SIGSTOP);
  return 0;
}

static uint64_t base_of_libprof(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE* maps = fopen(path, "r");
  uint64_t base = 0;
  while (base == 0 && fgets(line, sizeof line, maps)) {
    if (strstr(line, "libprof.so")) base = strtoull(line, NULL, 16);
  }
  fclose(maps);
  return base;
}

// Lets the child go on, with a signal, until it stops or ends.
static int go_on(pid_t pid, int how, int with) {
  int status;
  if (ptrace(how, pid, 0, with) != 0 || waitpid(pid, &status, 0) != pid) exit(2);
  if (WIFEXITED(status)) exit(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) exit(3);
  return WSTOPSIG(status);
}

static int is_in_handler(pid_t pid) {
  uint64_t blocked = 0;
  return ptrace(PTRACE_GETSIGMASK, pid, sizeof blocked, &blocked) == 0 && (blocked >> (SIGUSR1 - 1) & 1);
}

int main(int argc, char** argv) {
  const char* what = argc > 3 ? argv[3] : "";
  const int may_nest = strcmp(what, "") == 0 || strcmp(what, "fibers") == 0;
  stay_on_one_processor();
  const pid_t pid = fork();
  if (pid == 0) return traced(what);
  int status;
  waitpid(pid, &status, 0);
  const uint64_t entry = base_of_libprof(pid) + strtoull(argc > 1 ? argv[1] : "", NULL, 16);
  const long code = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
  const long trap = (code & ~0xffL) | 0xcc;
  const int instructions = argc > 2 ? atoi(argv[2]) : 1;
  int with = 0;
  for (;;) {
    ptrace(PTRACE_POKETEXT, pid, entry, trap);
    const int stopped_by = go_on(pid, PTRACE_CONT, with);
    // It has made its calls. What the runtime measures at the end runs hooks by the thousand, with signals blocked.
    if (stopped_by == SIGSTOP) break;
    with = stopped_by;  // one of its own is passed on
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    if (stopped_by != SIGTRAP || registers.rip != entry + 1) continue;
    registers.rip = entry;
    ptrace(PTRACE_SETREGS, pid, 0, &registers);
    ptrace(PTRACE_POKETEXT, pid, entry, code);
    const int is_wanted = may_nest || !is_in_handler(pid);
    for (int i = 0; i < (is_wanted ? instructions : 1); i++) go_on(pid, PTRACE_SINGLESTEP, 0);
    with = is_wanted ? SIGUSR1 : 0;
  }
  ptrace(PTRACE_POKETEXT, pid, entry, code);
  go_on(pid, PTRACE_CONT, 0);
}
