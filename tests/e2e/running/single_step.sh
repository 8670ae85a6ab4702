# A program that steps through itself: the trap comes after every instruction, those of the runtime included.
. "${0%/*}/../common.inc"

cat >step.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#define KEPT __attribute__((noipa))
static volatile long steps;
static int sleeps;
KEPT static void trap(int signal_number) {
  static const struct timespec moment = {.tv_nsec = 1};
  steps += signal_number != 0;
  if (!sleeps || steps % 7 != 0) return;
  long result;  // asked for here: a call of an import has hooks of its own
  asm volatile("syscall" : "=a"(result) : "0"(SYS_nanosleep), "D"(&moment), "S"(NULL) : "rcx", "r11", "memory");
}
KEPT int leaf(int x) { return x + 1; }
KEPT int tree(int depth) { return depth ? tree(depth - 1) + leaf(depth) : 0; }
int main(int argc, char **argv) {
  sleeps = argc > 1;
  struct sigaction action = {.sa_handler = trap};
  sigaction(SIGTRAP, &action, NULL);
  asm volatile("pushf; orl $0x100, (%rsp); popf");
  const int result = tree(200);
  asm volatile("pushf; andl $~0x100, (%rsp); popf");
  printf("%d\ncalls trap %ld\n", result, steps);
  return steps == 0 || argv[argc] != NULL;
}
C
compile step step.c -O1
calls_vary=1
expected=$'calls tree 201\ncalls leaf 200\ncalls main 1'
# Without hooks in the handler all the runtime's work is done where it is stepped through.
rewrite step --quiet -N trap
profiled step
expect_calls step <<<"$expected"
# With them, the handler's calls come between any two instructions of the hooks; 200 calls are more than a chunk of frames has
# room for. A handler that sleeps has its exit set the thread's clock while the runtime is at work.
rewrite step --quiet
for argument in '' sleeping; do
  profiled step $argument
  expect_calls step <<<"$expected"$'\n'"$(grep '^calls trap' step.prof.stdout)"
done
