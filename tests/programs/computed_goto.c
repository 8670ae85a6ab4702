// Interpreters with computed gotos: a table of labels (relocated pointers), a table of distances between labels, and a
// label in a variable; and labels compared with each other.
#include "calls.h"

enum { ADD, SUBTRACT, DOUBLE, JUMP_IF, CALL, HALT };

KEPT long helper(long n) {
  CALLED("helper");
  return n ^ (n >> 3);
}

KEPT long threaded(const unsigned char* code, long n) {
  CALLED("threaded");
  static const void* const labels[] = {&&add, &&subtract, &&twice, &&jump_if, &&call, &&halt};
  const unsigned char* pc = code;
#define NEXT goto* labels[*pc++]
  NEXT;
add:
  n += *pc++;
  NEXT;
subtract:
  n -= *pc++;
  NEXT;
twice:
  n *= 2;
  NEXT;
jump_if:
  if (n < 100000)
    pc = code + *pc;
  else
    ++pc;
  NEXT;
call:
  n = helper(n);
  NEXT;
halt:
  return n;
}

KEPT long distances(const unsigned char* code, long n) {
  CALLED("distances");
  static const int labels[] = {&&add - &&add, &&subtract - &&add, &&twice - &&add, &&jump_if - &&add, &&call - &&add, &&halt - &&add};
  const unsigned char* pc = code;
#undef NEXT
#define NEXT goto*(&&add + labels[*pc++])
  NEXT;
add:
  n += *pc++;
  NEXT;
subtract:
  n -= *pc++;
  NEXT;
twice:
  n *= 2;
  NEXT;
jump_if:
  if (n < 100000)
    pc = code + *pc;
  else
    ++pc;
  NEXT;
call:
  n = helper(n) + 1;
  NEXT;
halt:
  return n;
}

KEPT int coroutine(void** resume, int n) {
  CALLED("coroutine");
  if (*resume) goto** resume;
  *resume = &&second;
  return n + 1;
second:
  *resume = &&third;
  return n * 2;
third:
  *resume = 0;
  return n - 3;
}

// Labels are compared, too: all of them must be addresses in the original, or all in the copy.
KEPT int compared(const unsigned char* code) {
  CALLED("compared");
  static const void* const labels[] = {&&add, &&halt};
  int n = 0;
  const void* next = labels[*code++ & 1];
  if (next == &&halt) return -1;
  goto* next;
add:
  n += 5;
  next = labels[*code++ & 1];
  if (next == &&add) n *= 3;
  goto* next;
halt:
  return n;
}

int main(void) {
  CALLED("main");
  static const unsigned char code[] = {ADD, 3, DOUBLE, CALL, SUBTRACT, 1, JUMP_IF, 0, HALT};
  long sum = 0;
  void* resume = 0;
  for (int i = 1; i < 100; ++i) {
    sum += threaded(code, i) - distances(code, i);
    sum += coroutine(&resume, i);
    const unsigned char bits[] = {(unsigned char)i, (unsigned char)(i >> 1), (unsigned char)(i >> 2), (unsigned char)(i >> 3), 1};
    sum += compared(bits);
  }
  printf("%ld\n", sum);
  print_calls();
  return 0;
}
