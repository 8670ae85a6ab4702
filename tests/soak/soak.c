// soak FILE GENERATION: everything that is hard on the runtime, at once, until it is killed: threads that come and go,
// a signal handler at 10 kHz (on signal stacks in half of the threads) that calls functions and now and then leaves by
// siglongjmp, coroutines on small stacks, deep and wide recursion, tail calls, longjmp, and children by fork, vfork, posix_spawn
// and system that exit, _exit, quick_exit, abort, run this program again under the same process id, close all
// descriptors or change their root.
//
// soak FILE print: what FILE holds. FILE is mapped shared; each process claims a record there, in which every function
// counts its own calls as its first statement. Prints for each "process PID GENERATION MOST" and "calls NAME N": in the
// profile may be up to MOST calls more, those that had entered a function and had not counted yet when the process was
// killed or left. It is 0 for a process that came to its end alone.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))
#define JUMPS __attribute__((noipa, optimize("optimize-sibling-calls")))

enum {
  kTree,
  kDeep,
  kWide,
  kLeaf,
  kInHandler,
  kHandlerLeaf,
  kJumper,
  kLeaper,
  kFiber,
  kFiberStep,
  kThread,
  kChild,
  kJumpThere,
  kJumpSomewhere,
  kKinds
};
static const char* const names[kKinds] = {"tree",         "deep",   "wide",       "leaf",          "in_handler",
                                          "handler_leaf", "jumper", "leaper",     "fiber",         "fiber_step",
                                          "thread",       "child",  "jump_there", "jump_somewhere"};
enum { kRecords = 20000, kMaxThreads = 12, kFibers = 6, kFiberStack = 16384, kCallsPerThread = 3 };

struct Record {
  int32_t pid, generation;
  int32_t threads, most_threads, is_quiet, pad;
  uint64_t calls[kKinds];
};
static struct {
  uint64_t used;
  struct Record records[kRecords];
} * shared;
static struct Record* mine;
static const char* file;
static int generation, depth_of_forks;

#define COUNT(kind) __atomic_fetch_add(&mine->calls[kind], 1, __ATOMIC_RELAXED)

static __thread uint64_t seed;
static unsigned random_number(void) {
  if (seed == 0) seed = (uint64_t)getpid() * 2654435761u + (uint64_t)(uintptr_t)&seed;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33);
}

static void claim(void) {
  const uint64_t n = __atomic_fetch_add(&shared->used, 1, __ATOMIC_RELAXED);
  if (n >= kRecords) _exit(3);
  mine = &shared->records[n];
  mine->generation = generation;
  mine->threads = mine->most_threads = 1;
  mine->pid = getpid();
}
static void thread_begins(void) {
  const int now = __atomic_add_fetch(&mine->threads, 1, __ATOMIC_RELAXED);
  for (int most = mine->most_threads; most < now && !__atomic_compare_exchange_n(&mine->most_threads, &most, now, 0,
                                                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED);) {
  }
}

KEPT int leaf(int x) {
  COUNT(kLeaf);
  return x;
}
KEPT void tree(int depth) {
  COUNT(kTree);
  for (unsigned n = depth > 0 ? random_number() % 3 : 0; n > 0; n--) {
    if (n & 1) leaf(depth);
    tree(depth - 1);
  }
}
KEPT int deep(int depth) {
  COUNT(kDeep);
  return depth == 0 ? 0 : deep(depth - 1) + leaf(depth);
}
// 64 functions, called in ever new orders.
KEPT void wide(int depth, unsigned way) {
  COUNT(kWide);
  if (depth == 0) return;
  switch (way % 4) {
    case 0:
      wide(depth - 1, way / 4);
      break;
    case 1:
      wide(depth - 1, way / 4);
      leaf(1);
      break;
    case 2:
      tree(1);
      wide(depth - 1, way / 4);
      break;
    default:
      deep(3);
  }
}

// Tail calls, to the other one and through a pointer.
KEPT int jump_somewhere(int left, unsigned way);
static int (*volatile const ends[])(int left, unsigned way);
JUMPS int jump_there(int left, unsigned way) {
  COUNT(kJumpThere);
  return left == 0 ? leaf(left) : jump_somewhere(left - 1, way / 2);
}
JUMPS int jump_somewhere(int left, unsigned way) {
  COUNT(kJumpSomewhere);
  if (left > 0 && way % 8 == 0) return leaf(left) + jump_there(left - 1, way / 2);
  return left == 0 ? leaf(left) : ends[way % 2](left - 1, way / 2);
}
static int (*volatile const ends[])(int left, unsigned way) = {jump_there, jump_somewhere};

static __thread sigjmp_buf handler_target;
static __thread volatile sig_atomic_t can_jump;
KEPT int handler_leaf(int x) {
  COUNT(kHandlerLeaf);
  return x;
}
KEPT void jumper(int x) {
  COUNT(kJumper);
  if (x > 0) jumper(x - 1);
  can_jump = 0;
  siglongjmp(handler_target, 1);
}
KEPT void in_handler(int signal_number) {
  COUNT(kInHandler);
  handler_leaf(signal_number);
  if (can_jump) jumper(2);
  jump_somewhere(4, random_number());
  handler_leaf(signal_number);
}
static void handler(int signal_number) { in_handler(signal_number); }

// Spins until a handler jumps out of it; no call of its own is under way then.
KEPT void leaper(jmp_buf target, int depth) {
  COUNT(kLeaper);
  if (depth > 0) leaper(target, depth - 1);
  longjmp(target, 1);
}
static void jumps(void) {
  jmp_buf target;
  if (setjmp(target) == 0) leaper(target, (int)(random_number() % 20));
  const time_t until = time(NULL) + 2;
  if (sigsetjmp(handler_target, 1) == 0) {
    can_jump = 1;
    while (can_jump && time(NULL) < until) {
    }
    can_jump = 0;
  }
}

struct Fiber {
  ucontext_t own, resumer;
  int steps;
  char stack[kFiberStack];
};
static __thread struct Fiber* current_fiber;
KEPT void fiber_step(struct Fiber* f, int depth) {
  COUNT(kFiberStep);
  if (depth > 0) {
    fiber_step(f, depth - 1);
  } else {
    swapcontext(&f->own, &f->resumer);
  }
  leaf(depth);
}
KEPT void fiber(void) {
  struct Fiber* f = current_fiber;
  COUNT(kFiber);
  while (f->steps-- > 0) fiber_step(f, f->steps % 4);
  f->steps = -1;
  setcontext(&f->resumer);
}
static void fibers(void) {
  struct Fiber* all = malloc(kFibers * sizeof *all);
  for (int i = 0; i < kFibers; i++) {
    getcontext(&all[i].own);
    all[i].own.uc_stack.ss_sp = all[i].stack;
    all[i].own.uc_stack.ss_size = kFiberStack;
    all[i].steps = 10;
    makecontext(&all[i].own, fiber, 0);
  }
  for (int left = kFibers; left > 0;) {
    struct Fiber* f = &all[random_number() % kFibers];
    if (f->steps < 0) continue;
    current_fiber = f;
    swapcontext(&f->resumer, &f->own);
    left -= f->steps < 0;
  }
  free(all);
}

static void some_work(void) {
  switch (random_number() % 8) {
    case 0:
      deep((int)(random_number() % 3000));
      break;
    case 1:
      wide(12, random_number());
      break;
    case 2:
      jumps();
      break;
    case 3:
      fibers();
      break;
    case 4:
      for (int i = 0; i < 1000; i++) jump_there(20, random_number());
      break;
    default:
      tree(12);
  }
}

static timer_t start_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  timer_t timer;
  const struct itimerspec often = {{0, 100000}, {0, 100000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, NULL);
  return timer;
}

// The last function of a process without other threads.
static void block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
}

extern char** environ;
static void others(void) {
  char* arguments[] = {"true", NULL};
  int status;
  pid_t pid = -1;
  switch (random_number() % 3) {
    case 0:
      if ((pid = vfork()) == 0) {
        execv("/bin/true", arguments);
        _exit(1);
      }
      break;
    case 1:
      posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ);
      break;
    default:
      if (system("exit 0") == -1) _exit(4);
  }
  while (pid > 0 && waitpid(pid, &status, 0) != pid) {
  }
}

KEPT void child(int way) {
  COUNT(kChild);
  switch (way) {
    case 0:
      if (chdir("/")) break;
      break;
    case 1:
      close_range(0, ~0u, 0);
      break;
    case 2:
      if (chroot("/proc") || chdir("/")) break;
      break;
    default:
      break;
  }
  const int ticks = way % 2;
  timer_t timer;
  if (ticks) timer = start_timer();
  for (int i = 0; i < 4; i++) some_work();
  if (ticks) timer_delete(timer);
  if (depth_of_forks < 3 && way > 2 && random_number() % 2) {
    depth_of_forks++;
    const pid_t pid = fork();
    if (pid == 0) {
      claim();
      child(way - 1);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) != pid) {
    }
  }
  block_signals();
  tree(5);
  mine->is_quiet = 1;
  switch (way) {
    case 3:
      _exit(0);
    case 4:
      quick_exit(0);
    case 5:
      signal(SIGABRT, SIG_DFL);
      abort();
    case 6:
    case 7:
      if (generation < 4) {
        char number[16];
        snprintf(number, sizeof number, "%d", generation + 1);
        execl("/proc/self/exe", "soak", file, number, (char*)NULL);
      }
      _exit(5);
    default:
      exit(0);
  }
}

KEPT void fork_one(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    claim();
    child((int)(random_number() % 8));
  }
  while (pid > 0 && waitpid(pid, NULL, 0) != pid) {
  }
}

static volatile int is_over;
KEPT void* thread(void* how) {
  thread_begins();
  COUNT(kThread);
  char signal_stack[32768];
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  const stack_t none = {.ss_flags = SS_DISABLE};
  if ((intptr_t)how & 1) sigaltstack(&stack, NULL);
  for (int i = 0; i < 20; i++) {
    some_work();
    if (random_number() % 8 == 0) fork_one();
    if (random_number() % 8 == 0) others();
  }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  if ((intptr_t)how & 1) sigaltstack(&none, NULL);
  __atomic_sub_fetch(&mine->threads, 1, __ATOMIC_RELAXED);
  return NULL;
}

static int print(void) {
  for (uint64_t i = 0; i < shared->used; i++) {
    const struct Record* r = &shared->records[i];
    if (r->pid == 0) continue;
    printf("process %d %d %d\n", r->pid, r->generation, r->is_quiet ? 0 : kCallsPerThread * r->most_threads);
    for (int k = 0; k < kKinds; k++) printf("calls %s %lu\n", names[k], r->calls[k]);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  file = argv[1];
  const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *shared)) return 1;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) return 1;
  close(fd);
  if (!strcmp(argv[2], "print")) return print();
  generation = atoi(argv[2]);
  claim();
  // Signals that the process had before it ran this program.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  if (generation > 0) child((int)(random_number() % 8));
  start_timer();
  for (;;) {
    pthread_t threads[kMaxThreads];
    int joined = 0;
    for (int i = 0; i < kMaxThreads; i++) {
      if (pthread_create(&threads[joined], NULL, thread, (void*)(intptr_t)i)) return 1;
      if (i % 3 == 0) {
        pthread_detach(threads[joined]);
      } else {
        joined++;
      }
    }
    for (int i = 0; i < joined; i++) pthread_join(threads[i], NULL);
    some_work();
    while (__atomic_load_n(&mine->threads, __ATOMIC_RELAXED) > kMaxThreads) usleep(100);
  }
}
