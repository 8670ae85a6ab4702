# A program in a sandbox that kills for what the program itself does not need, made by a library (as libseccomp makes it), and
# one that may not read the time-stamp counter any more: they run to their end, and their calls are counted, those in threads
# and children that begin afterwards as well.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
int jail(const char*);
static long nodes;
KEPT int leaf(int x) { return x + 1; }
KEPT int tree(int depth) {
  nodes++;
  return depth == 0 ? leaf(depth) : tree(depth - 1) + leaf(depth) + (depth % 3 ? 0 : tree(depth - 3));
}
KEPT void* thread(void* depth) {
  tree(*(int*)depth);
  return NULL;
}
int main(int argc, char** argv) {
  static char buffer[4096];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  tree(3);
  if (jail(argv[1])) return 1;
  printf("%d\n", tree(60));
  // What begins afterwards: a thread, and a child whose profile has its own calls alone.
  if (!strcmp(argv[1], "none") || !strcmp(argv[1], "counter")) {
    for (int depth = 20; depth < 23; depth++) {
      pthread_t other;
      if (pthread_create(&other, NULL, thread, &depth) || pthread_join(other, NULL)) return 1;
    }
    printf("calls thread 3\n");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      nodes = 0;
      tree(30);
      printf("calls tree %ld\ncalls leaf %ld\n", nodes, nodes);
      exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  printf("calls tree %ld\ncalls leaf %ld\ncalls main 1\n", nodes, nodes);
}
C
compile libjail.so "$programs/jail.c" -shared -fPIC
compile program program.c -O1 -L. -ljail -Wl,-rpath,"$PWD"
rewrite program
for type in $types; do
  export PROFTYPE=$type
  for how in none counter prctl seccomp; do
    profiled program $how
    expect_calls program <program.stdout
  done
done

# Threads that may not ask for their numbers make new contexts at once: none is lost.
cat >numberless.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define KEPT __attribute__((noipa))
KEPT void left(int depth, unsigned way);
KEPT void right(int depth, unsigned way) {
  if (depth > 0) (way & 1 ? left : right)(depth - 1, way >> 1);
}
KEPT void left(int depth, unsigned way) {
  if (depth > 0) (way & 1 ? left : right)(depth - 1, way >> 1);
}
static pthread_barrier_t all;
static void *grow(void *unused) {
  pthread_barrier_wait(&all);
  for (unsigned i = 0; i < 1u << 16; i++) right(16, i);
  return unused;
}
int main(void) {
  pthread_t threads[4];
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  pthread_barrier_init(&all, NULL, 4);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 2;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, grow, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}
C
compile numberless numberless.c -O1 -pthread
rewrite numberless
PROFTYPE=count profiled numberless
prof --json numberless.prof numberless.profiles/prof.* >json 2>prof.log && [ ! -s prof.log ] || fail "numberless: $(cat prof.log)"
calls=$(jq '[.functions[] | select(.name == "left" or .name == "right").calls] | add' json)
[ "$calls" = $((4 * 65536 * 17)) ] || fail "numberless: $calls calls"
