/* Threads, a child and a handler of signals that comes anywhere, of all of which it is known where they write. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWords = 1000, kRounds = 300, kThreads = 3, kTicks = 100 };

static long area[kThreads + 1][kWords], of_ticks[1 << 16];
static volatile int ticks;
static volatile sig_atomic_t may_jump;
static sigjmp_buf place;

__attribute__((noinline)) static void fill(long* to, long n) {
  for (long i = 0; i < n; ++i) to[i] = i;
}

/* Through a pointer that is loaded from where it lay itself. */
struct link {
  struct link* next;
  long value;
};
__attribute__((noinline)) static long sum(const struct link* l) {
  long all = 0;
  for (; l; l = l->next) all += l->value;
  return all;
}

__attribute__((noinline)) static void note(long* to, long value) { to[0] = value; }

static void on_tick(int signal) {
  (void)signal;
  // Two threads may be here at once.
  const int before = __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
  if (before < 1 << 16) note(&of_ticks[before], before);
  if (may_jump) siglongjmp(place, 1);
}

static void* work(void* own) {
  struct link links[10];
  for (int i = 0; i < 10; ++i) links[i] = (struct link){i < 9 ? &links[i + 1] : 0, i};
  long all = 0;
  for (int i = 0; i < kRounds; ++i) {
    fill(own, kWords);
    all += sum(links);
  }
  return (void*)all;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  struct itimerval each = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &each, 0);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], 0, work, area[i]);
  work(area[kThreads]);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
  for (volatile int jumps = 0; jumps < kTicks; ++jumps) {
    if (sigsetjmp(place, 1) == 0) {
      may_jump = 1;
      for (;;) note(&of_ticks[0], 0);
    }
    may_jump = 0;
  }
  signal(SIGALRM, SIG_IGN);
  fflush(stdout);
  if (fork() == 0) {
    fill(area[0], 10);
    _exit(0);
  }
  wait(0);
  printf("%p %p %ld\n", (void*)area, (void*)of_ticks, (long)ticks);
  return 0;
}
