# A thread that ends, or ends the program, in a system call that a hook makes leaves nothing behind that harms others.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile int ended, first_id, trapped, exits;
KEPT void left(int depth, unsigned way);
KEPT void right(int depth, unsigned way) {
  if (depth > 0) (way & 1 ? left : right)(depth - 1, way >> 1);
}
KEPT void left(int depth, unsigned way) {
  if (depth > 0) (way & 1 ? left : right)(depth - 1, way >> 1);
}
#define TEN(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
static volatile int sum;
#define F(n) KEPT void leaf##n(void) { sum++; }
HUNDRED(1) HUNDRED(2) HUNDRED(3)
#undef F
#define F(n) leaf##n();
KEPT void call_leaves(void) { HUNDRED(1) HUNDRED(2) HUNDRED(3) }
KEPT int deep(int depth) {
  volatile char room[4096];
  room[0] = 0;
  if (depth > 0) return deep(depth - 1) + room[0];
  call_leaves();
  return room[0];
}
// In the middle of a hook: of a call that it makes of the kernel.
static void end(int number) {
  ended++;
  if (exits) exit(3);
  syscall(SYS_exit, 0);
}
static void *first(void *unused) {
  first_id = gettid();
  left(1, 0);
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, trapped, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Not by syscall(), which the runtime knows of, and after which it gives signals free itself.
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program) : "rcx", "r11", "memory");
  for (unsigned way = 0; way < 1024; way++) left(10, way);
  return NULL;
}
// Without a hook: that of deep is the thread's first, further down the stack than the other thread came to its end.
KEPT void *second(void *unused) {
  volatile char room[16384];
  room[0] = 0;
  deep(20);
  return (void *)(long)room[0];
}
int main(int argc, char **argv) {
  pthread_t thread;
  const struct {
    const char *name;
    int number;
  } calls[] = {{"sigprocmask", SYS_rt_sigprocmask}, {"mprotect", SYS_mprotect}, {"madvise", SYS_madvise}};
  for (int i = 0; i < 3; i++)
    if (strcmp(argv[1], calls[i].name) == 0) trapped = calls[i].number;
  exits = argc > 2;
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
rewrite program -N second
# test_call NAME LOST: the hook is interrupted in that call, where so many calls of the handler find no place.
test_call() {
  for type in time count; do
    local what="$1, $type"
    rm -f prof.[0-9]*
    PROFTYPE=$type run ./program.prof "$1"
    [ "$status" = 0 ] && [ "$(cat stdout)" = ended ] || fail "$what: status $status, $(cat stdout stderr): the first thread was to end in a hook"
    prof --json program.prof prof.[0-9]* >json || fail "$what: prof"
    [ "$(jq .lost json)" = "$2" ] || fail "$what: $(jq .lost json) calls were lost, not $2"
    [ "$(jq '[.functions[] | select(.name | startswith("leaf")) | .calls] | add' json)" = 300 ] ||
      fail "$what: $(jq '[.functions[] | select(.name | startswith("leaf")) | .calls] | add' json) calls of leaves, not 300"
  done
}
test_call sigprocmask 0 # it is about to block signals
test_call mprotect 2    # it makes room for a larger table
test_call madvise 2     # it makes room in the file, for which it has the lock
# The program may end there.
rm -f prof.[0-9]*
run timeout 60 ./program.prof madvise exit
[ "$status" = 3 ] || fail "madvise, exit: status $status, $(cat stdout stderr)"
prof --json program.prof prof.[0-9]* >json && jq -e .complete json >unused || fail "madvise, exit: $(jq -c '.complete' json)"
