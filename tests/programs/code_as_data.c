// Functions whose bytes are read, copied or changed through a pointer; and functions whose address goes the same ways,
// to be called.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

typedef int Function(int);
#define READ __attribute__((noinline, noclone, aligned(32)))

READ int copied(int x) { return x * 3 + 1; }
READ int copied_later(int x) { return x * 5 + 1; }
READ int summed(int x) { return x * 7 + 1; }
READ int summed_here(int x) { return x * 9 + 1; }
READ int compared(int x) { return x * 11 + 1; }
READ int sent(int x) { return x * 13 + 1; }
READ int patched(int x) { return x == 77 ? 1 : x; }
// Read from the first to the last.
__attribute__((section("row"))) READ int row_first(int x) { return x * 15 + 1; }
__attribute__((section("row"))) READ int row_second(int x) { return x * 17 + 1; }
__attribute__((section("row"))) READ int row_end(int x) { return x; }

KEPT static unsigned sum(const void* code, size_t size) {
  CALLED("sum");
  const unsigned char* p = code;
  unsigned s = 0;
  while (size--) s = s * 31 + *p++;
  return s;
}
KEPT static unsigned sum_of_row(const unsigned char* from, const unsigned char* to) {
  CALLED("sum_of_row");
  unsigned s = 0;
  for (; from < to; ++from) s = s * 31 + *from;
  return s;
}
KEPT static unsigned led_on(int depth, const void* code, size_t size) {
  CALLED("led_on");
  return sum(code, size) + (unsigned)depth;
}
KEPT static void* executable(const void* code, size_t size) {
  CALLED("executable");
  void* m = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memcpy(m, code, size);
}
KEPT static void patch(unsigned char* code) {
  CALLED("patch");
  mprotect((void*)((uintptr_t)code & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  for (int i = 0; i < 16; ++i)
    if (code[i] == 77) code[i] = 78;
}

KEPT static int doubled(int x) {
  CALLED("doubled");
  return 2 * x;
}
KEPT static int tripled(int x) {
  CALLED("tripled");
  return 3 * x;
}
KEPT static int ascending(const void* a, const void* b) {
  CALLED("ascending");
  return *(const int*)a - *(const int*)b;
}
KEPT static void handle(int signal) { CALLED("handle"); }
KEPT static void* in_thread(void* argument) {
  CALLED("in_thread");
  return argument;
}
KEPT static void at_end(void) { print_calls(); }

struct Operation {
  Function* call;
  char name[24];
};
// The same argument is a function's address or null, is called, kept and compared.
KEPT static int apply(Function* f, int x) {
  CALLED("apply");
  static Function* last;
  if (!f) f = last;
  const int again = f == last;
  last = f;
  return f ? f(x) + again : 0;
}
KEPT static int apply_copy(const struct Operation* o, int x) {
  CALLED("apply_copy");
  struct Operation mine;
  memcpy(&mine, o, sizeof mine);
  return mine.call(x) + mine.name[0];
}

int main(int argc, char** argv) {
  CALLED("main");
  atexit(at_end);
  int result = ((Function*)executable((void*)copied, 32))(argc);
  void* room = 0;
  const void* later = (void*)copied_later;
  if (posix_memalign(&room, 4096, 4096) || mprotect(room, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) return 1;
  memmove(room, later, (size_t)argc * 32);
  result += ((Function*)room)(argc);
  unsigned sums = led_on(2, (void*)summed, 16) + sum_of_row((void*)row_first, (void*)row_end);
  const unsigned char* p = (void*)summed_here;
  for (int i = 0; i < argc * 16; ++i) sums = sums * 33 + p[i];
  sums += memcmp((void*)compared, room, (size_t)argc * 32) > 0;
  int ends[2];
  unsigned char received[16];
  if (pipe(ends) || write(ends[1], (void*)sent, 16) != 16 || read(ends[0], received, 16) != 16) return 1;
  sums += sum(received, 16);
  const int before = patched(78);
  patch((void*)patched);
  printf("%d %u %d %d\n", result, sums, before, patched(78));

  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, ascending);
  signal(SIGUSR1, handle);
  raise(SIGUSR1);
  pthread_t thread;
  if (pthread_create(&thread, 0, in_thread, 0)) return 1;
  pthread_join(thread, 0);
  struct Operation operations[] = {{doubled, "d"}, {tripled, "t"}};
  int applied = apply(doubled, 1) + apply(tripled, 2) + apply(0, 3);
  for (int i = 0; i < 2; ++i) applied += apply_copy(&operations[i], i);
  char text[40];
  snprintf(text, sizeof text, "%p", (void*)tripled);
  printf("%d %d %d\n", numbers[0], applied, strlen(text) > 2);
  return row_second(argc) == 0;
}
