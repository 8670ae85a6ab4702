// A library whose functions take arguments and give results in every way there is, call back, and leave in every way. It
// counts its own calls, as the program that imports them (imports.c) cannot.

#include "imported.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#include "calls.h"

int plain(int n) {
  CALLED("plain");
  return n + 1;
}

int many(int a, int b, int c, int d, int e, int f, int g, double x, struct Big big, int h) {
  CALLED("many");
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + (int)x + (int)big.words[4] + 8 * h;
}

double mixed(const char* kinds, ...) {
  CALLED("mixed");
  va_list list;
  va_start(list, kinds);
  double sum = 0;
  for (; *kinds; ++kinds) sum += *kinds == 'd' ? va_arg(list, double) : *kinds == 'i' ? va_arg(list, int) : (double)va_arg(list, long double);
  va_end(list);
  return sum;
}

struct Big big(long n) {
  CALLED("big");
  return (struct Big){{n, n + 1, n + 2, n + 3, n + 4}};
}

struct Pair pair(long n) {
  CALLED("pair");
  return (struct Pair){n, 2 * n};
}

struct Mixed mix(long n) {
  CALLED("mix");
  return (struct Mixed){n, (double)n / 4};
}

long double extended(long double x) {
  CALLED("extended");
  return x * 1.25L;
}

_Complex long double two_extended(long double x) {
  CALLED("two_extended");
  return x + 2 * x * 1.0iL;
}

_Complex double two(double x) {
  CALLED("two");
  return x + 3 * x * 1.0i;
}

typedef double Vector __attribute__((vector_size(16)));
Vector vector(Vector v, Vector w) {
  CALLED("vector");
  return v * w;
}

void each(int n, void (*f)(int)) {
  CALLED("each");
  for (int i = 0; i < n; ++i) f(i);
}

// A tail call, if it is optimized.
int hand_over(int (*f)(int), int n) {
  CALLED("hand_over");
  return f(n);
}

void give_up(jmp_buf* to, int value) {
  CALLED("give_up");
  longjmp(*to, value);
}

void end_thread(void* result) {
  CALLED("end_thread");
  pthread_exit(result);
}

void end_process(int status) {
  CALLED("end_process");
  exit(status);
}

void print_imported(void) {
  CALLED("print_imported");
  print_calls();
}
