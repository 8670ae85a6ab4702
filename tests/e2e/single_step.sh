# A program that steps through itself: the trap comes after every instruction, those of the runtime included.
. "${0%/*}/common.inc"

cat >step.c <<'C'
#include <signal.h>
#include <stdio.h>
#define KEPT __attribute__((noipa))
static volatile long steps;
KEPT static void trap(int signal_number) { steps += signal_number != 0; }
KEPT int leaf(int x) { return x + 1; }
KEPT int tree(int depth) { return depth ? tree(depth - 1) + leaf(depth) : 0; }
int main(void) {
  struct sigaction action = {.sa_handler = trap};
  sigaction(SIGTRAP, &action, NULL);
  asm volatile("pushf; orl $0x100, (%rsp); popf");
  const int result = tree(200);
  asm volatile("pushf; andl $~0x100, (%rsp); popf");
  printf("%d\ncalls trap %ld\n", result, steps);
  return steps == 0;
}
C
compile step step.c -O1
# Without hooks in the handler all the runtime's work is done where it is stepped through. With them, the handler's calls come
# between any two instructions of the hooks; 200 calls are more than a chunk of frames has room for.
for left_out in trap nothing; do
  rewrite step -N $left_out
  calls_vary=1
  profiled step
  expected=$'calls tree 201\ncalls leaf 200\ncalls main 1'
  [ $left_out = trap ] || expected+=$'\n'$(grep '^calls trap' step.prof.stdout)
  expect_calls step <<<"$expected"
done
