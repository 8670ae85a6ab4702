/* Does all that an instruction can fail at, or that others can see of it, and prints what became of it: the same whoever steps it. */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char *said[] = {[SIGSEGV] = "SEGV", [SIGBUS] = "BUS", [SIGFPE] = "FPE", [SIGILL] = "ILL", [SIGTRAP] = "TRAP"};
static sigjmp_buf back;
static unsigned char *code, *pages; /* code to be written; a page that is all right, one to read, one to leave alone, one more */
static const unsigned char *called; /* what is run is there */
static volatile int ticks;

#define ALIGNMENT_IS_NO_MATTER() __asm__ volatile("pushf\n andl $0xfffbffff, (%%rsp)\n popf" ::: "memory", "cc")

/* Which instruction it was, with which registers: addresses relative to what they are about. */
static void handle(int number, siginfo_t *info, void *context) {
  ALIGNMENT_IS_NO_MATTER();
  const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = info->si_addr;
  if (called) {
    printf("code: %s at %ld\n", said[number], (long)(r[REG_RIP] - (long)called));
    siglongjmp(back, 1);
  }
  long where = -1;
  if (at >= pages && at < pages + 5 * 4096) where = at - pages;
  printf("  %s code %d, at %ld, address %ld; rax %llx rcx %llx rdx %llx rbx %llx, flags %llx, stack %lld\n", said[number],
         info->si_code, (long)(r[REG_RIP] - (long)code), where, r[REG_RAX], r[REG_RCX], r[REG_RDX], r[REG_RBX],
         r[REG_EFL] & 0xdd5, (long long)(r[REG_RSP] - (long)pages) >> 16 ? -1LL : (long long)(r[REG_RSP] - (long)pages));
  siglongjmp(back, 1);
}

static void on_tick(int number) { ++ticks; }

/* Runs these bytes, and a return, with pages in rdi, and values in rax, rcx, rdx and rbx. */
static void run(const char *what, const char *bytes, size_t size, long where, uint64_t rax, uint64_t rcx) {
  memcpy(code, bytes, size);
  code[size] = 0xc3;
  printf("%s\n", what);
  if (sigsetjmp(back, 1)) return;
  uint64_t a = rax, c = rcx, d = 0x1111, b = 0x2222, flags;
  __asm__ volatile("call *%[code]\n pushf\n pop %[flags]"
                   : [flags] "=&r"(flags), "+a"(a), "+c"(c), "+d"(d), "+b"(b)
                   : [code] "m"(code), "D"(pages + where)
                   : "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  printf("  rax %lx rcx %lx rdx %lx rbx %lx flags %lx\n", a, c, d, b, flags & 0xdd5);
}
#define RUN(what, bytes, where, rax, rcx) run(what, bytes, sizeof bytes - 1, where, rax, rcx)

static void say_pages(void) {
  uint64_t sum = 0;
  for (int i = 0; i < 4096; ++i) sum = sum * 31 + pages[i];
  printf("  pages %lx %lx\n", sum, *(uint64_t *)(pages + 4096));
}

static void accesses(void) {
  RUN("store", "\x48\x89\x07", 100, 1, 2);                                /* mov %rax, (%rdi) */
  RUN("store across pages", "\x48\x89\x07", 4092, 0x7777777777777777, 2); /* half of it might be written */
  say_pages();
  RUN("load across pages", "\x48\x8b\x07", 4092, 1, 2);
  RUN("store to what is read only", "\x48\x01\x07", 4096 + 16, 1, 2); /* add %rax, (%rdi) */
  RUN("load from nowhere", "\x48\xff\xc0\x48\x03\x0f", 8192, 1, 2);   /* inc %rax; add (%rdi), %rcx */
  RUN("load across the end", "\x48\x03\x0f", 8192 - 3, 1, 2);
  RUN("load from an address that is none", "\x48\x8b\x00", 0, 1ull << 63, 2);
  RUN("load from 0", "\x8b\x00", 0, 0, 2);
  RUN("conditional load that is not made", "\x39\xc0\x0f\x45\x0f", 8192, 1, 2); /* cmp; cmovne (%rdi), %ecx */
  RUN("push to nowhere", "\x48\x87\xe7\x50\x48\x87\xe7", 8192 + 8, 1, 2);     /* xchg %rdi, %rsp; push %rax; xchg */
  RUN("pop from nowhere", "\x48\x87\xe7\x58\x48\x87\xe7", 8192 - 4, 1, 2);
  RUN("repeated stores to the end", "\x89\xc0\xf3\xaa", 4096 - 5, 1, 20); /* rep stosb */
  say_pages();
  RUN("divide by 0", "\x31\xd2\x48\xf7\xf1", 0, 100, 0);
  RUN("divide too much", "\xba\x05\x00\x00\x00\xf7\xf1", 0, 100, 5);
  RUN("divide the least by -1", "\x48\x99\x48\xf7\xf9", 0, 1ull << 63, ~0ull);
  RUN("divide", "\x48\x99\x48\xf7\xf9", 0, 1ull << 63, 3);
  RUN("jump to nowhere", "\xff\xe7", 8192, 1, 2);
  RUN("jump to an address that is none", "\xff\xe0", 0, 1ull << 63, 2);
  RUN("call nowhere", "\xff\xd7", 8192, 1, 2);
  RUN("lock", "\xf0\x48\x01\x07", 200, 3, 2);
  RUN("invalid, behind flags that were popped", "\x9c\x81\x34\x24\x00\x00\x20\x00\x9d\x0f\x0b", 0, 1, 2); /* that there is cpuid */
  RUN("invalid", "\x0f\x0b", 0, 1, 2);
  RUN("int1", "\xf1", 0, 1, 2);
  RUN("int1 with a prefix", "\x3e\xf1", 0, 1, 2);
  RUN("breakpoint", "\xcc", 0, 1, 2);
  RUN("bit far away", "\x0f\xab\x07", 64, 1000, 2); /* bts %eax, (%rdi) */
  say_pages();
  RUN("unaligned, while that is an error", "\x9c\x80\x4c\x24\x02\x04\x9d\x8b\x47\x01\x9c\x80\x64\x24\x02\xfb\x9d", 0, 1, 2);
  mprotect(pages + 8192, 4096, PROT_READ | PROT_WRITE);
  RUN("what was nowhere", "\x48\x89\x07\x48\x8b\x0f", 8192, 5, 6);
  mprotect(pages + 8192, 4096, PROT_READ);
  RUN("and then read only", "\x48\x8b\x0f\x48\x89\x07", 8192, 7, 8);
}

/* Code that changes itself: the next instruction, one further on, one that ran before, and through another address. */
static void changes(void) {
  RUN("next", "\xc6\x05\x01\x00\x00\x00\x2a\xb0\x01\x90", 0, 0, 0);              /* movb $42, 1(%rip); mov $1, %al */
  RUN("further on", "\xc6\x05\x05\x00\x00\x00\x2b\xff\xc1\xff\xc1\xb0\x01", 0, 0, 0); /* ...; inc %ecx; inc %ecx; mov $1, %al */
  RUN("before", "\xb1\x05\xfe\x05\xf9\xff\xff\xff\xfe\xc8\x75\xf4", 0, 9, 0);    /* 1: mov $5, %cl; incb 1b+1; dec %al; jnz 1b */
  const int file = memfd_create("code", 0);
  unsigned char *one, *other;
  if (file < 0 || ftruncate(file, 4096) != 0) exit(1);
  one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  other = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  long sum = 0;
  memcpy(one, "\xb8\x01\x00\x00\x00\xc3", 6); /* mov $1, %eax; ret */
  for (int i = 0; i < 20; ++i) {
    one[1] = (unsigned char)i;
    sum = sum * 3 + ((int (*)(void))other)();
  }
  printf("other address: %ld\n", sum);
}

/* Code runs where it may be run, and nowhere else: a program may wait for the fault. */
static void runs(const unsigned char *at) {
  called = at;
  if (sigsetjmp(back, 1) == 0) printf("code: %d\n", ((int (*)(void))at)());
  called = NULL;
}
static void rights(void) {
  unsigned char *const two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int all[] = {PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE | PROT_EXEC, PROT_READ | PROT_WRITE};
  memcpy(two + 4000, "\xb8\x04\x00\x00\x00\xc3", 6); /* mov $4, %eax; ret */
  memcpy(two + 4093, "\xb8\x05\x00\x00\x00\xc3", 6); /* across the pages */
  for (int i = 0; i < 5; ++i) {
    mprotect(two, 4096, all[i]);
    runs(two + 4000);
    runs(two + 4093);
  }
  mprotect(two, 8192, PROT_READ | PROT_EXEC);
  runs(two + 4093);
  memcpy(code, "\xb8\x06\x00\x00\x00\xc3", 6);
  runs(code);
  mmap(code, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memcpy(code, "\xb8\x07\x00\x00\x00\xc3", 6);
  runs(code);
  mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  runs(code);
  unsigned char *const heap = (unsigned char *)(((uintptr_t)sbrk(8192) + 4095) & ~(uintptr_t)4095);
  mprotect(heap, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  memcpy(heap, "\xb8\x08\x00\x00\x00\xc3", 6);
  runs(heap);
  sbrk(-8192);
  sbrk(8192);
  memcpy(heap, "\xb8\x09\x00\x00\x00\xc3", 6);
  runs(heap);
}

static long call(long number, long a, long b, long c, long d) {
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return number;
}

/* A signal that a system call sends, or lets through, is there before the next instruction. */
static volatile int signals;
static void on_signal(int number) { ++signals; }
static void sent(void) {
  const uint64_t mask = 1ull << (SIGUSR1 - 1);
  signal(SIGUSR1, on_signal);
  call(SYS_kill, getpid(), SIGUSR1, 0, 0);
  printf("signals: %d", signals);
  call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, 0, sizeof mask);
  call(SYS_kill, getpid(), SIGUSR1, 0, 0);
  printf(" %d", signals);
  call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, sizeof mask);
  printf(" %d\n", signals);
}

/* A watchpoint counts all writes, where the system lets the program have one. */
static void watched(void) {
  static volatile uint64_t place[64];
  struct perf_event_attr what = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof what, .bp_type = HW_BREAKPOINT_W, .bp_addr = (uint64_t)&place[32],
                                 .bp_len = HW_BREAKPOINT_LEN_8, .exclude_kernel = 1, .exclude_hv = 1};
  const int counter = (int)syscall(SYS_perf_event_open, (long)&what, 0, -1, -1, 0);
  uint64_t count = 0;
  for (uint64_t i = 0; i < 10; ++i) place[32] += i;
  if (counter >= 0 && read(counter, &count, sizeof count) != sizeof count) exit(1);
  printf("watched: %d\n", (int)count);
}

static int deep(int n) {
  volatile char room[2000];
  room[n % 2000] = (char)n;
  return n == 0 ? 0 : deep(n - 1) + room[n % 2000];
}

/* What two threads, or processes, add to without a lock loses nothing that it would not lose by itself. */
static volatile uint64_t *meeting;
static void *in_thread(void *n) {
  for (int i = 0; i < 300; ++i) __atomic_fetch_add(&meeting[0], 1, __ATOMIC_SEQ_CST);
  meeting[1] = 1;
  while (meeting[2] == 0) {
  }
  return n;
}
static void company(void) {
  pthread_t thread;
  meeting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_create(&thread, NULL, in_thread, NULL);
  while (meeting[1] == 0) {
  }
  meeting[2] = 1;
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child == 0) {
    meeting[3] = 7;
    while (meeting[4] == 0) {
    }
    _exit((int)meeting[4]);
  }
  while (meeting[3] == 0) {
  }
  meeting[4] = 9;
  int status = 0;
  waitpid(child, &status, 0);
  printf("company: %d %d %d\n", (int)meeting[0], (int)meeting[3], WEXITSTATUS(status));
}

int main(void) {
  static char other_stack[65536];
  const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  for (int i = 0; i < (int)(sizeof said / sizeof *said); ++i) {
    if (said[i]) sigaction(i, &action, NULL);
  }
  setvbuf(stdout, NULL, _IOFBF, 65536);
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pages = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4096; ++i) pages[i] = (unsigned char)(i * 7);
  mprotect(pages + 4096, 4096, PROT_READ);
  mprotect(pages + 8192, 4096, PROT_NONE);
  accesses();
  changes();
  sent();
  rights();
  printf("deep: %d\n", deep(400));
  company();
  uint64_t flags;
  __asm__ volatile("pushf\n pop %0" : "=r"(flags));
  printf("trap flag: %d\n", (int)(flags >> 8 & 1));
  signal(SIGALRM, on_tick);
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &often, NULL);
  uint64_t sum = 0;
  for (uint64_t i = 1; ticks < 3; ++i) sum += i * i ^ sum >> 3; /* signals come between any two instructions */
  signal(SIGALRM, SIG_IGN);
  printf("ticks: %d\n", ticks >= 3);
  watched(); /* the last one: proftarget only steps from here on */
  return 0;
}
