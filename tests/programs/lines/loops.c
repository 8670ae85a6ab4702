#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int is_prime(int n) {
  if (n < 2) return 0;
  for (int i = 2; i * i <= n; ++i)
    if (n % i == 0) return 0;
  return 1;
}
static int gcd(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}
static void nothing(void) {
}
static void early(int x) {
  if (x > 3)
    return;
  nothing();
}
static int never(int x) {
  int y = x;
  for (int i = 0; i < x; ++i) {
    y += i;
    if (y == 12345) abort();
  }
  return y;
}
int sum(int n) {
  int s = 0, i = 0;
  do {
    if (i % 3 == 0) continue;
    if (i > 50) break;
    s += i;
  } while (++i < n || i % 3 == 1);
  for (;;) {
    if (s-- < 0) goto out;
    if (s % 2)
      s -= 2;
    else
      s--;
  }
out:
  return s;
}
int one_line(int n) { int k = 0; while (n > 0) n -= 3, ++k; return k; }
int both(int a, int b) { return a && b ? a || b : a ? 1 : 2; }
int many(int a,
         int b,
         int c) {
  return gcd(a,
             b) + gcd(b,
                      c) +
         is_prime(a + b) +
         (c > 3
              ? gcd(c, 3)
              : gcd(a, 2));
}
struct pair { double a; long b; };
struct pair make(int n) {
  struct pair p = {n, n};
  if (n > 2) {
    p.a = 3;
    return p;
  }
  p.b = 4;
  return p;
}
double real(int n) {
  double d = n;
  if (n == 2)
    return d * 2;
  unsigned long u = (unsigned long)d;
  return (double)u;
}
int main(void) {
  int count = 0;
  for (int i = 0; i < 100; ++i) count += is_prime(i);
  for (int i = 1; i < 20; ++i)
    for (int j = 1; j < 20; ++j)
      if (gcd(i, j) == 1)
        ++count;
  early(2);
  early(5);
  never(10);
  int j = 0;
  while (j < 10) {
    ++j;
    if (j == 5)
      continue;
    count += j;
  }
  count += sum(20);
  for (int i = 0; i < 5; ++i) count += one_line(i * 4), count += both(i & 1, i & 2);
  count += many(3, 4, 5) + many(1, 2, 3);
  count += make(1).b + make(3).b + real(2) + real(3);
  char* text = malloc(100);
  strcpy(text,
         "abc");
  for (char* c = text; *c; ++c)
    putchar(*c);
  printf("%d %s\n",
         count, text);
  free(text);
  if (count < 0)
    return 1;
  else if (count == 3) {
    puts("three");
  }
  return 0;
}
