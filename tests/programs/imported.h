#ifndef TESTS_PROGRAMS_IMPORTED_H
#define TESTS_PROGRAMS_IMPORTED_H

#include <setjmp.h>

struct Big {
  long words[5];
};
struct Pair {
  long first, second;
};
struct Mixed {
  long whole;
  double part;
};

int plain(int n);
int many(int a, int b, int c, int d, int e, int f, int g, double x, struct Big big, int h);
double mixed(const char* kinds, ...);  // kinds: i, d and l (long double)
struct Big big(long n);
struct Pair pair(long n);
struct Mixed mix(long n);
long double extended(long double x);
_Complex long double two_extended(long double x);
_Complex double two(double x);
typedef double Vector __attribute__((vector_size(16)));
Vector vector(Vector v, Vector w);
void each(int n, void (*f)(int));
int hand_over(int (*f)(int), int n);
void give_up(jmp_buf* to, int value);
void end_thread(void* result);
void end_process(int status);
void print_imported(void);

#endif
