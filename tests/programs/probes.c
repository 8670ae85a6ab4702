// Probes as SystemTap's <sys/sdt.h> makes them: a no-operation, and a note that says where it is.
#include "calls.h"

#define TEXT(X) #X
// A probe at the instruction AT of the assembly around it, with the addresses in the note less by MOVED: as if it had
// been written before the program was prelinked.
#define NOTE(AT, NAME, MOVED, SEMAPHORE, ARGUMENTS)                                                    \
  ".pushsection .note.stapsdt, \"\", @note\n .balign 4\n"                                              \
  " .long 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"                      \
  "993: .quad " AT " - " TEXT(MOVED) ", probes_base - " TEXT(MOVED) ", " SEMAPHORE                     \
                                                                    "\n"                               \
                                                                    " .asciz \"app\"\n .asciz \"" NAME \
                                                                    "\"\n .asciz \"" ARGUMENTS         \
                                                                    "\"\n994: .balign 4\n.popsection\n"

__asm__(".pushsection .stapsdt.base, \"a\", @progbits\nprobes_base: .space 1\n.popsection\n");

// The semaphore is not 0 while somebody listens.
__attribute__((section(".probes"), used)) volatile unsigned short listeners;

// One at the very entry, inside the jump to the copy, and one after.
int at_entry(int x);
__asm__(
    ".text\n.balign 16\n.globl at_entry\n.type at_entry, @function\nat_entry: .cfi_startproc\n"
    "1: nop\n" NOTE("1b", "entry", 0, "0", "-4@%edi") " lea 1(%rdi,%rdi,2), %eax\n"
    "2: nop\n" NOTE("2b", "leave", 0x1000, "0", "-4@%eax") " ret\n.cfi_endproc\n.size at_entry, . - at_entry\n");

__attribute__((cold, noinline)) static void complain(int x) {
  CALLED("complain");
  printf("%d\n", x);
}

// In a loop whose jumps have to become longer, and in a part that gcc splits off.
KEPT static int inside(int n) {
  CALLED("inside");
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += at_entry(i);
    if (listeners) __asm__ volatile("1: nop\n" NOTE("1b", "sum", 0, "listeners", "4@%0 -4@%1 8@$7")::"r"(sum), "m"(i));
    if (__builtin_expect(sum > 20, 0)) {
      __asm__ volatile("1: nop\n" NOTE("1b", "rare", 0, "0", "-4@%0")::"r"(sum));
      complain(sum);
      sum = 0;
    }
  }
  return sum;
}

// It stays, because the probe is in the middle of an instruction.
int odd(void);
__asm__(
    ".text\n.balign 16\n.globl odd\n.type odd, @function\nodd: .cfi_startproc\n"
    "1: mov $7, %eax\n" NOTE("1b + 2", "odd", 0, "0", "") " ret\n.cfi_endproc\n.size odd, . - odd\n");

int main(void) {
  CALLED("main");
  int (*volatile f)(int) = at_entry;
  int sum = odd();
  for (int i = 0; i < 3; ++i) sum += f(i);
  printf("%d %d\n", sum, inside(6));
  print_calls();
  return 0;
}
