// A program that patches its own code, at the places that a section lists. What was patched says so by counting.
//
//   SITES=1  no-operations at the entry (gcc and clang -fpatchable-function-entry=5), found in
//            __patchable_function_entries: they become a call
//   SITES=2  the same with five more in front of the entry (-fpatchable-function-entry=7,5), as for patching a program
//            while it runs: a short jump at the entry leads to a long one before it. Right before these stands a
//            function of one byte.
//   SITES=3  the no-operation that calls __fentry__ otherwise (gcc -mrecord-mcount), found in __mcount_loc
//   SITES=4  a static key, found in __jump_table: a no-operation becomes a jump to a label
//
// With WHOLE, all code is made writable at once, from the first byte to the last, as the linker's symbols tell; else
// the pages of the place only.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "calls.h"

#define UNTRACED __attribute__((no_instrument_function))

static volatile int hits;
__attribute__((noinline, used)) UNTRACED void count_hit(void) {
  CALLED("count_hit");
  ++hits;
}
// What f is patched to call, or to jump to: then it gives f's result.
UNTRACED void detour(void);
__asm__(
    ".text\n.globl detour\n.type detour, @function\n"
    "detour: .cfi_startproc\n push %rdi\n .cfi_adjust_cfa_offset 8\n call count_hit\n pop %rdi\n"
    " .cfi_adjust_cfa_offset -8\n lea 1(%rdi,%rdi,2), %eax\n ret\n .cfi_endproc\n.size detour, . - detour\n");

UNTRACED static void put(uint8_t* at, uint8_t opcode, const uint8_t* target) {
  const int32_t distance = (int32_t)(target - (at + 5));
  *at = opcode;
  memcpy(at + 1, &distance, sizeof distance);
}

#if SITES == 1 || SITES == 2
extern uint64_t __start___patchable_function_entries[], __stop___patchable_function_entries[];
#define FIRST __start___patchable_function_entries
#define END __stop___patchable_function_entries
#define ADDRESS(entry) ((uint8_t*)(uintptr_t)(entry))
#elif SITES == 3
extern uint64_t __start___mcount_loc[], __stop___mcount_loc[];
#define FIRST __start___mcount_loc
#define END __stop___mcount_loc
#define ADDRESS(entry) ((uint8_t*)(uintptr_t)(entry))
#else
struct JumpEntry {
  int32_t code, target;
  int64_t key;
};
extern struct JumpEntry __start___jump_table[], __stop___jump_table[];
#define FIRST __start___jump_table
#define END __stop___jump_table
#define ADDRESS(entry) ((uint8_t*)((uintptr_t)&(entry).code + (uintptr_t)(entry).code))
#endif

void tiny(void);
#if SITES == 2
int f(int x);
__asm__(
    ".text\n.globl tiny\n.type tiny, @function\n"
    "tiny: .cfi_startproc\n ret\n .cfi_endproc\n.size tiny, . - tiny\n"
    "0: .fill 5, 1, 0x90\n"
    ".globl f\n.type f, @function\n"
    "f: .cfi_startproc\n nop\n nop\n lea 1(%rdi,%rdi,2), %eax\n ret\n .cfi_endproc\n.size f, . - f\n"
    ".pushsection __patchable_function_entries, \"aw\", @progbits\n .balign 8\n .quad 0b\n.popsection\n");
#else
#if SITES == 4
int enabled;
KEPT static int f(int x) {
  __asm__ goto(
      "1: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
      ".pushsection __jump_table, \"aw\", @progbits\n .balign 8\n"
      " .long 1b - ., %l[yes] - .\n .quad enabled - .\n.popsection\n" ::
          :
          : yes);
  return x * 3 + 1;
yes:
  count_hit();
  return x * 3 + 1;
}
#elif SITES == 3
KEPT static int f(int x) { return x * 3 + 1; }
#else
__attribute__((patchable_function_entry(5))) KEPT static int f(int x) { return x * 3 + 1; }
#endif
UNTRACED void tiny(void) {}
#endif

UNTRACED KEPT static void run(void) {
  CALLED("run");
  void (*volatile small)(void) = tiny;
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    small();
    sum += f(i);
  }
  printf("%d hits %d\n", sum, hits);
}

UNTRACED static void make_writable(uint8_t* site) {
#ifdef WHOLE
  extern uint8_t __executable_start[], etext[];
  uint8_t *start = __executable_start, *end = etext;
  (void)site;
#else
  uint8_t *start = site - 8, *end = site + 16;
#endif
  start -= (uintptr_t)start & 4095;
  if (mprotect(start, (size_t)(end - start), PROT_READ | PROT_WRITE | PROT_EXEC) != 0) perror("mprotect");
}

UNTRACED int main(void) {
  CALLED("main");
  run();
  for (unsigned i = 0; i < END - FIRST; ++i) {
    uint8_t* const site = ADDRESS(FIRST[i]);
    make_writable(site);
#if SITES == 2
    put(site, 0xe9, (uint8_t*)detour);
    memcpy(site + 5, "\xeb\xf9", 2);
#elif SITES == 4
    put(site, 0xe9, (uint8_t*)&FIRST[i].target + FIRST[i].target);
#else
    put(site, 0xe8, (uint8_t*)detour);
#endif
  }
  run();
  print_calls();
  return 0;
}
