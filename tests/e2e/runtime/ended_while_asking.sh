# A thread that ends while a hook asks the kernel for its time leaves nothing behind for the thread that comes after it.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile int ended, first_id;
// In the middle of a hook, which asks what the thread's clock says.
static void end(int number) {
  ended++;
  syscall(SYS_exit, 0);
}
KEPT void nap(void) { nanosleep(&(struct timespec){0, 100000000}, NULL); }
static void *first(void *unused) {
  first_id = gettid();
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Not by syscall(), which the runtime knows of.
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program) : "rcx", "r11", "memory");
  nap();
  return NULL;
}
KEPT void *second(void *unused) {
  nap();
  nap();
  return NULL;
}
int main(void) {
  pthread_t thread;
  signal(SIGSYS, end);
  pthread_create(&thread, NULL, first, NULL);
  pthread_join(thread, NULL);
  while (syscall(SYS_tkill, first_id, 0) == 0) {
  }
  pthread_create(&thread, NULL, second, NULL);
  pthread_join(thread, NULL);
  printf("%s\n", ended ? "ended" : "not ended");
  return 0;
}
C
compile program program.c -O1 -pthread
rewrite program
run ./program.prof
[ "$status" = 0 ] && [ "$(cat stdout)" = ended ] || fail "status $status, $(cat stdout stderr): the first thread was to end in a hook"
prof --json program.prof prof.[0-9]* >json || fail "prof"
jq -e '.tsc_hz as $hz | .functions[] | select(.name == "nap") | .total_waiting_cycles / $hz > 0.19' json >unused ||
  fail "$(jq -c '.functions[] | select(.name == "nap")' json): of the second thread's two naps not all was waited"
