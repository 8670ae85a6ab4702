#include <stdio.h>
enum { push, add, mul, dup, jump_if, halt };
static int machine(const int* code) {
  int stack[20], top = 0, steps = 0;
  for (const int* at = code;; ++steps) {
    switch (*at++) {
      case push:
        stack[top++] = *at++;
        break;
      case add:
        --top;
        stack[top - 1] += stack[top];
        break;
      case mul:
        --top;
        stack[top - 1] *= stack[top];
        break;
      case dup:
        stack[top] = stack[top - 1];
        ++top;
        // fall through
      case 9:
        break;
      case jump_if:
        if (stack[--top] < 1000)
          at = code + *at;
        else
          ++at;
        break;
      case halt:
        return stack[0] + steps;
      default:
        return -1;
    }
  }
}
static const char* sparse(int n) {
  switch (n) {
    case 1: return "one";
    case 100: return "hundred";
    case 1000:
    case 2000: return "thousand";
    case -5: {
      n = 3;
      break;
    }
  }
  return n == 3 ? "three" : "other";
}
static int computed(int n) {
  static void* labels[] = {&&zero, &&one, &&two};
  int k = 0;
next:
  goto *labels[n % 3];
zero:
  k += 1;
  if (--n > 0) goto next;
  return k;
one:
  k += 10;
  if (--n > 0) goto next;
  return k;
two:
  k += 100;
  if (--n > 0) goto next;
  return k;
}
int main(void) {
  const int code[] = {push, 2, dup, dup, mul, add, dup, jump_if, 2, halt};
  printf("%d\n", machine(code));
  for (int i = -10; i < 110; ++i)
    if (sparse(i)[0] == 'o') putchar('.');
  for (int i = 0; i < 10; i++) { printf("%d", computed(i)); }
  return 0;
}
