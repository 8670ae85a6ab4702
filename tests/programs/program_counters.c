// A load that may fault, and a handler of SIGSEGV that knows it by its address, as kernels and run-time systems do. FORM
// says how the address is kept.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls.h"

#define FROM_ITSELF 0
#define FROM_TABLE 1
#define WORDS 2
#define NUMBERS 3
#define ONE_WORD 4
#define LABELS 5
#define KEPT_LABELS 6
#define FUNCTION 7
#define LENGTH 8
#define FUNCTION_IN_DATA 9

long try_read(const long* p);
__asm__(
    ".text\n.balign 16\n.globl try_read\n.type try_read, @function\n"
    "try_read: .cfi_startproc\n  mov $-1, %rax\n  test %rdi, %rdi\n  je after_load\n"
    "load: mov (%rdi), %rax\n"
    "after_load: ret\n  .cfi_endproc\n  .size try_read, .-try_read\n"
    "try_read_end: nop\n");

#if FORM == FROM_ITSELF
typedef int32_t Entry;
__asm__(".section table, \"a\"\n.long load - ., after_load - .\n.text\n");
#elif FORM == FROM_TABLE
typedef int32_t Entry;
__asm__(".section table, \"a\"\n1: .long load - 1b, after_load - 1b\n.text\n");
#elif FORM == NUMBERS
typedef uint32_t Entry;
__asm__(".section table, \"a\"\n.long load, after_load\n.text\n");
#elif FORM == FUNCTION_IN_DATA
typedef uint64_t Entry;
__asm__(".section table, \"aw\"\n.balign 8\n.quad try_read, try_read_end\n.text\n");
#else
typedef uint64_t Entry;
// Not at a multiple of 8, as where assembly does not ask for that.
__asm__(
    ".section table, \"aw\"\n"
#if FORM == WORDS
    ".balign 8\n"
#else
    ".balign 8\n.long 0\n.globl load_word\nload_word:\n"
#endif
    ".quad load, after_load\n.text\n");
#endif
extern const Entry __start_table[] __attribute__((visibility("hidden")));
extern const Entry load_word __attribute__((visibility("hidden")));
extern char load[], after_load[], try_read_end[];

static uintptr_t address(int i) {
  const Entry* e = __start_table + i;
  switch (FORM) {
    case FROM_ITSELF:
      return (uintptr_t)e + *e;
    case FROM_TABLE:
      return (uintptr_t)__start_table + *e;
    default:
      return *e;
  }
}
static uintptr_t kept[2];
KEPT void keep_labels(void) {
  CALLED("keep_labels");
#if FORM == KEPT_LABELS
  kept[0] = (uintptr_t)load;
  kept[1] = (uintptr_t)after_load;
#endif
}

static int is_known(uintptr_t pc) {
  switch (FORM) {
#if FORM == ONE_WORD
    case ONE_WORD:
      return pc == *(volatile const Entry*)&load_word;
#elif FORM == LABELS
    case LABELS:
      return pc == (uintptr_t)load;
#elif FORM == FUNCTION
    case FUNCTION:
      return pc >= (uintptr_t)try_read && pc < (uintptr_t)try_read_end;
#elif FORM == LENGTH
    case LENGTH:
      return pc - (uintptr_t)try_read < 32;
#endif
    case KEPT_LABELS:
      return pc == kept[0];
    case FUNCTION_IN_DATA:
      return pc >= address(0) && pc < address(1);
    default:
      return pc == address(0);
  }
}
static void handle(int s, siginfo_t* info, void* context) {
  CALLED("handle");
  greg_t* pc = &((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (!is_known((uintptr_t)*pc)) {
    static const char message[] = "a fault at an unknown place\n";
    _exit(write(1, message, sizeof message - 1) == 0 ? 8 : 9);
  }
  *pc += 3;
}

KEPT long read_twice(const long* p) {
  CALLED("read_twice");
  return try_read(p) + try_read(NULL);
}

int main(void) {
  CALLED("main");
  const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  keep_labels();
  const long seven = 7;
  printf("%ld %ld\n", read_twice(&seven), read_twice((const long*)16));
  print_calls();
  return 0;
}
