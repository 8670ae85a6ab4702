// Functions that wait, each for something else, and that run; each is measured from within and from around its call, so
// that what happens between a clock and a hook makes no difference. Prints a line for each, of seconds:
// NAME CPU-WITHIN CPU-AROUND WAITED-WITHIN WAITED-AROUND.
//
//     waits [own-sections | unregistered | refused]
//
// own-sections: the thread describes critical sections of its own (restartable sequences) all the time. unregistered: it
// ends the registration of its struct rseq first. refused: it may not ask for its own processor time any more; the
// functions measure themselves before that, as the lines are printed.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))
#define INLINE static inline __attribute__((always_inline))

INLINE double seconds(clockid_t which) {
  struct timespec t;
  clock_gettime(which, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
// The two clocks are read one after the other, and the thread may lose its processor in between. From within that makes
// the elapsed time too short, from around too long, and with it what was waited.
struct moment {
  double cpu, elapsed;
};
struct measured {
  struct moment within, around;
};
INLINE void begin(struct measured* m) {
  m->within.cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
  m->within.elapsed = seconds(CLOCK_MONOTONIC);
}
INLINE void end(struct measured* m) {
  m->within.elapsed = seconds(CLOCK_MONOTONIC) - m->within.elapsed;
  m->within.cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - m->within.cpu;
}
INLINE void measure(struct measured* m, void (*function)(void)) {
  m->around.elapsed = seconds(CLOCK_MONOTONIC);
  m->around.cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
  function();
  m->around.cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - m->around.cpu;
  m->around.elapsed = seconds(CLOCK_MONOTONIC) - m->around.elapsed;
}
// It asks for the time seldom: the clock that it goes by counts what hooks of clock_gettime cost, and shown times do not.
INLINE void burn(double cpu) {
  const double until = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < until) {
    for (volatile int i = 0; i < 2000; i++) {
    }
  }
}
INLINE void nap(double s) {
  const struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
  nanosleep(&t, NULL);
}

static struct measured of_sleeps, of_naps, of_locks, of_reads, of_burns, of_shares, of_stopped, of_moves;

KEPT void sleeps(void) {
  begin(&of_sleeps);
  nap(0.2);
  end(&of_sleeps);
}

KEPT void short_nap(void) {
  nap(0.0002);
  __asm__ volatile("");
}
KEPT void naps(void) {
  begin(&of_naps);
  for (int i = 0; i < 500; i++) short_nap();
  end(&of_naps);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], is_locked;
KEPT void* holder(void* unused) {
  nap(0.2);
  pthread_mutex_unlock(&mutex);
  return unused;
}
KEPT void* writer(void* unused) {
  nap(0.4);
  if (write(ends[1], "x", 1) != 1) perror("write");
  return unused;
}
KEPT void* locker(void* unused) {
  pthread_mutex_lock(&mutex);
  __atomic_store_n(&is_locked, 1, __ATOMIC_RELEASE);
  pthread_t other;
  pthread_create(&other, NULL, writer, NULL);
  holder(NULL);
  pthread_join(other, NULL);
  return unused;
}
KEPT void locks(void) {
  begin(&of_locks);
  pthread_mutex_lock(&mutex);
  end(&of_locks);
}
KEPT void reads(void) {
  begin(&of_reads);
  char c;
  if (read(ends[0], &c, 1) != 1) perror("read");
  end(&of_reads);
}

KEPT void burns(void) {
  begin(&of_burns);
  burn(0.2);
  end(&of_burns);
}

static int stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one);
}
// Two threads want one processor.
KEPT void* rival(void* unused) {
  burn(0.3);
  return unused;
}
KEPT void shares(void) {
  begin(&of_shares);
  burn(0.3);
  end(&of_shares);
}

KEPT void stopped(void) {
  begin(&of_stopped);
  const pid_t self = getpid(), child = fork();
  if (child == 0) {
    kill(self, SIGSTOP);
    nap(0.3);
    kill(self, SIGCONT);
    _exit(0);
  }
  burn(0.05);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
  end(&of_stopped);
}

KEPT void moves(void) {
  begin(&of_moves);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  for (int i = 0; i < 200; i++) {
    for (int cpu = 0; cpu < 2; cpu++) {
      if (CPU_ISSET(cpu, &all)) stay_on(cpu);
      burn(0.0001);
    }
  }
  sched_setaffinity(0, sizeof all, &all);
  end(&of_moves);
}

// Critical sections of this thread's own, whenever it runs: nothing is in them, but the kernel does not know that.
__asm__(
    ".section .data.rel.ro, \"aw\"\n"
    ".balign 32\n"
    "own_section: .long 0, 0\n"
    ".quad 1f, 2f - 1f, 4f\n"
    ".text\n"
    ".type own_critical_section, @function\n"
    "own_critical_section:\n"
    "  lea own_section(%rip), %rax\n"
    "  mov %rax, (%rdi)\n"
    "1: nop\n"
    "2: ret\n"
    "  .byte 0x0f, 0xb9, 0x3d\n"
    "  .long 0x53053053\n"
    "4: jmp own_critical_section\n"
    ".size own_critical_section, . - own_critical_section\n");
void own_critical_section(uint64_t* rseq_cs);
extern const ptrdiff_t __rseq_offset __attribute__((weak));
static struct rseq* rseq_of_thread(void) { return (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset); }
static int has_own_sections;
KEPT void works(void) {
  for (int i = 0; i < 20000; i++) {
    if (has_own_sections) own_critical_section((uint64_t*)&rseq_of_thread()->rseq_cs);
    __asm__ volatile("");
  }
}

static void print(const char* name, struct measured m) {
  printf("%s %.6f %.6f %.6f %.6f\n", name, m.within.cpu, m.around.cpu, m.within.elapsed - m.within.cpu,
         m.around.elapsed - m.around.cpu);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "own-sections")) has_own_sections = 1;
  if (!strcmp(how, "unregistered")) syscall(SYS_rseq, rseq_of_thread(), 32, RSEQ_FLAG_UNREGISTER, 0x53053053);
  pthread_t other;
  if (pipe(ends) != 0) return 1;
  for (int i = 0; i < 10; i++) works();
  measure(&of_sleeps, sleeps);
  measure(&of_naps, naps);
  measure(&of_burns, burns);
  pthread_create(&other, NULL, locker, NULL);
  while (!__atomic_load_n(&is_locked, __ATOMIC_ACQUIRE)) nap(0.001);
  measure(&of_locks, locks);
  measure(&of_reads, reads);
  pthread_join(other, NULL);
  measure(&of_moves, moves);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  stay_on(sched_getcpu());
  pthread_create(&other, NULL, rival, NULL);
  measure(&of_shares, shares);
  pthread_join(other, NULL);
  sched_setaffinity(0, sizeof all, &all);
  measure(&of_stopped, stopped);
  for (int i = 0; i < 10; i++) works();
  print("sleeps", of_sleeps);
  print("naps", of_naps);
  print("burns", of_burns);
  print("locks", of_locks);
  print("reads", of_reads);
  print("moves", of_moves);
  print("shares", of_shares);
  print("stopped", of_stopped);
  return 0;
}
