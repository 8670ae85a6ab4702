/* No libc: each instruction is one of these. Loops, branches, calls through pointers, a switch, a string instruction. */
static int values[64];
static volatile int seed = 3;

__attribute__((noinline)) static int twice(int n) { return n * 2; }
__attribute__((noinline)) static int thrice(int n) { return n * 3; }
static int (*const operations[2])(int) = {twice, thrice};

__attribute__((noinline)) static int choose(int n) {
  switch (n & 7) {
    case 0: return 5;
    case 1: return n ^ 9;
    case 2: return n - 1;
    case 3: return -n;
    case 4: return n + seed;
    case 5: return seed;
    default: return 1;
  }
}

__attribute__((noinline)) static int is_even(int n) {
  if (n % 2 == 0) return 1;
  return 0;
}

void _start(void) {
  int sum = 0;
  for (int i = 0; i < 200; ++i) {
    values[i % 64] += operations[i % 3 == 0](i) + choose(i);
    if (is_even(values[i % 64])) sum += values[i % 64];
  }
#ifdef REPEAT
  void* to = values;
  long count = sizeof values;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
#endif
  long status = (sum & 15) | 1;
  __asm__ volatile("syscall" : : "a"(231L), "D"(status));
  __builtin_unreachable();
}
