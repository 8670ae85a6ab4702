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
  const int result = tree(80);
  asm volatile("pushf; andl $~0x100, (%rsp); popf");
  printf("%d\n", result);
  return steps == 0;
}
C
compile step step.c -O1
rewrite step -N trap # so that all the runtime's work is done where it is stepped through
profiled step
flatten step
for expected in $'81\ttree' $'80\tleaf' $'1\tmain'; do
  grep -qF "$expected" step.calls || fail "no $expected in $(cat step.calls)"
done
