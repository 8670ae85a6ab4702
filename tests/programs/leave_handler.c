/* leave_handler FAULTS: of 30 rounds of a loop, as many as FAULTS end by a bad store, after branches. The handler of its signal goes
   elsewhere by siglongjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

enum { kRounds = 30 };
static sigjmp_buf next_round;
static volatile long counts[4], word;

static void leave(int signal) {
  (void)signal;
  siglongjmp(next_round, 1);
}

__attribute__((noinline)) static void rounds(long faults) {
  for (volatile long i = 0; i < kRounds; ++i) {
    if (sigsetjmp(next_round, 1)) continue;
    if (i & 1) ++counts[0];
    if (i & 2) ++counts[1];
    volatile long* volatile to = i < faults ? NULL : &word;
    *to = i;
    if (i & 4) ++counts[2];
  }
}

int main(int argc, char** argv) {
  signal(SIGSEGV, leave);
  rounds(argc > 1 ? atol(argv[1]) : 0);
  return counts[0] != kRounds / 2 || word > kRounds;
}
