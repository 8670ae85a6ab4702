// A restartable sequence (rseq(2)): the kernel compares the program counter with its bounds, and looks for a mark
// before the place where it is begun again. Such code must stay where it is.
#include <sys/rseq.h>

#include "calls.h"

#ifndef DESCRIBED
#define DESCRIBED "__rseq_cs"  // the section that descriptions are in by custom
#endif

static long counter;

__attribute__((noinline, noclone)) static void add_here(long n) {
  struct rseq* const area = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
  __asm__ volatile(".pushsection " DESCRIBED
                   ",\"aw\"\n .balign 32\n3: .long 0,0\n .quad 1f,2f-1f,4f\n.popsection\n"
                   "5: lea 3b(%%rip),%%rax\n mov %%rax,%0\n"
                   "1: mov %1,%%rax\n add %2,%%rax\n mov %%rax,%1\n2: movq $0,%0\n jmp 6f\n"
                   " .byte 0x0f,0xb9,0x3d\n .long 0x53053053\n4: jmp 5b\n6:\n"
                   : "=m"(area->rseq_cs), "+m"(counter)
                   : "r"(n)
                   : "rax", "memory");
}
KEPT static long twice(long n) {
  CALLED("twice");
  add_here(n);
  add_here(n);
  return counter;
}

int main(void) {
  CALLED("main");
  long sum = 0;
  for (long i = 0; i < 200000; ++i) sum ^= twice(i);
  printf("%ld %ld\n", counter, sum);
  print_calls();
  return 0;
}
