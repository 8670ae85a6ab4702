// Results and arguments in every kind of register, and values that callers keep in "caller-saved" ones because they know the callee.
#include <complex.h>
#include <emmintrin.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "calls.h"

struct TwoInts { long a, b; };
struct Mixed { double a; long b; };
struct TwoDoubles { double a, b; };

KEPT static long double extended(long double x, int n) {
  CALLED("extended");
  return x * n + 1 / 3.0L;
}
KEPT static complex double rotate(complex double z) {
  CALLED("rotate");
  return z * (0.6 + 0.8 * I);
}
KEPT static complex long double rotate_extended(complex long double z) {
  CALLED("rotate_extended");
  return z * (0.6L + 0.8L * I);
}
KEPT static __m128d vector(__m128d a, __m128d b) {
  CALLED("vector");
  return _mm_add_pd(_mm_mul_pd(a, b), _mm_set1_pd(.5));
}
KEPT static struct TwoInts two_ints(long n) {
  CALLED("two_ints");
  struct TwoInts result = {n * 2, n * 3};
  return result;
}
KEPT static struct Mixed mixed(long n) {
  CALLED("mixed");
  struct Mixed result = {(double)n / 2, n * 3};
  return result;
}
KEPT static struct TwoDoubles two_doubles(double x) {
  CALLED("two_doubles");
  struct TwoDoubles result = {x / 2, x * 3};
  return result;
}
KEPT static __int128 wide(__int128 n) {
  CALLED("wide");
  return n * n + 1;
}
KEPT static float single(float a, float b) {
  CALLED("single");
  return a / b;
}
// Small, and known to its callers: with -fipa-ra they keep values in the registers that it does not use, and flags-like results in others.
__attribute__((noinline)) static int known(int n) {
  CALLED("known");
  return n & 3;
}
KEPT static long registers(long a, long b, long c, long d, double x, double y) {
  CALLED("registers");
  long sum = 0;
  for (int i = 0; i < 10; ++i) {
    sum += known((int)a + i) + a * b - c + d;
    x = x * y + known(i);
    a ^= b;
    b += c;
    c -= d;
    d = d << 1 ^ a;
  }
  return sum + (long)x + (a ^ b ^ c ^ d);
}

int main(void) {
  CALLED("main");
  long double e = 1;
  complex double z = 1;
  complex long double w = 1;
  __m128d v = _mm_set_pd(1, 2);
  double d = 0;
  long sum = 0;
  __int128 big = 3;
  for (int i = 1; i < 50; ++i) {
    e = extended(e / i, i);
    z = rotate(z);
    w = rotate_extended(w);
    v = vector(v, _mm_set_pd(.5, -.25));
    struct TwoInts two = two_ints(i);
    struct Mixed both = mixed(i);
    struct TwoDoubles pair = two_doubles(i);
    sum += two.a * two.b + both.b;
    d += both.a + pair.a - pair.b + single((float)i, 3);
    big = wide(big) % 1000000007;
    fesetround(i % 2 ? FE_UPWARD : FE_TONEAREST);
    d = nearbyint(d * 1000) / 1000 + registers(i, 2, 3, 4, .5, .25);
  }
  fesetround(FE_TONEAREST);
  double lanes[2];
  _mm_storeu_pd(lanes, v);
  printf("%.15Lg %.12g %.12g %.12Lg %.12g %.12g %ld %.12g %ld\n", e, creal(z), cimag(z), creall(w), lanes[0], lanes[1], sum, d, (long)big);
  print_calls();
  return 0;
}
