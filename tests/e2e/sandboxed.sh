# A program in a sandbox that kills for what the program itself does not need, made by a library (as libseccomp makes it), and
# one that may not read the time-stamp counter any more: they run to their end, and their calls are counted, those in threads
# and children that begin afterwards as well.
. "${0%/*}/common.inc"

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
