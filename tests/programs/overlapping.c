// Unwind tables that overlap: a function with an entry in its middle that has an FDE of its own, inside the
// range of the first; one described twice; and an FDE for no code at all.
#include "calls.h"

long whole(long n), inner(long n), twice_told(long n);

#define ENTRY(from, to) \
  ".long 9f-8f\n8: .long 8b-77b\n.long " from "-.\n.long " to "-" from "\n.byte 0\n.balign 4\n9:\n"

__asm__(
    ".text\n"
    ".globl whole, inner, twice_told\n"
    ".type whole,@function\nwhole: .cfi_startproc\n add $3,%rdi\n.type inner,@function\ninner: lea (%rdi,%rdi,4),%rax\n ret\n"
    "1: .cfi_endproc\n.size whole,.-whole\n.size inner,.-inner\n"
    ".type twice_told,@function\ntwice_told: .cfi_startproc\n lea 7(%rdi),%rax\n ret\n2: .cfi_endproc\n.size twice_told,.-twice_told\n"
    ".section .eh_frame,\"a\",@unwind\n"
    ".balign 8\n"
    "77: .long 6f-5f\n5: .long 0\n.byte 1\n.string \"zR\"\n.uleb128 1\n.sleb128 -8\n.byte 16\n.uleb128 1\n.byte 0x1b\n"
    ".byte 0x0c, 7, 8, 0x90, 1\n.balign 4\n6:\n" ENTRY("inner", "1b") ENTRY("twice_told", "2b") ENTRY("2b", "2b") ".text\n");

KEPT long calls_both(long n) {
  CALLED("calls_both");
  return whole(n) - inner(n) + twice_told(n);
}

int main(void) {
  CALLED("main");
  long sum = 0;
  for (long i = 0; i < 100; ++i) sum = sum * 3 + calls_both(i);
  printf("%ld\n", sum);
  printf("calls twice_told 100\ncalls whole 100\n");
  print_calls();
  return 0;
}
