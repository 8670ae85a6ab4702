// Tail calls: direct, conditional, through a pointer, in a loop of functions, with stack arguments.
#include "calls.h"

KEPT static long leaf(long n) {
  CALLED("leaf");
  return n ^ 0x55;
}
KEPT static long direct(long n) {
  CALLED("direct");
  return leaf(n + 1);
}
KEPT static long conditional(long n) {
  CALLED("conditional");
  if (n & 1) return leaf(n);
  if (n & 2) return direct(n);
  return n;
}
static long (*volatile target)(long) = leaf;
KEPT static long indirect(long n) {
  CALLED("indirect");
  return target(n * 3);
}
static long (*const table[])(long) = {leaf, direct, conditional, indirect};
KEPT static long through_table(long n) {
  CALLED("through_table");
  return table[n & 3](n);
}
struct Object {
  long (*method)(struct Object*, long);
  long state;
};
KEPT static long method(struct Object* object, long n) {
  CALLED("method");
  return object->state += n;
}
KEPT static long call_method(struct Object* object, long n) {
  CALLED("call_method");
  return object->method(object, n);
}
KEPT static long pong(long n, long sum);
KEPT static long ping(long n, long sum) {
  CALLED("ping");
  if (n == 0) return sum;
  return pong(n - 1, sum + n);
}
KEPT static long pong(long n, long sum) {
  CALLED("pong");
  if (n == 0) return -sum;
  return ping(n - 1, sum ^ n);
}
KEPT static long many(long a, long b, long c, long d, long e, long f, long g, long h) {
  CALLED("many");
  return a + 2 * b - 3 * c + d + e + f + 5 * g - h;
}
KEPT static long shuffle(long a, long b, long c, long d, long e, long f, long g, long h) {
  CALLED("shuffle");
  return many(b, a, d, c, f, e, h, g);
}

int main(void) {
  CALLED("main");
  long sum = 0;
  struct Object object = {method, 5};
  for (long i = 0; i < 1000; ++i) {
    sum += direct(i) + conditional(i) + indirect(i) + through_table(i) + call_method(&object, i);
    sum ^= shuffle(i, 2, 3, 4, 5, 6, 7, 8);
    target = i % 3 ? leaf : direct;
  }
  printf("%ld %ld\n", sum, ping(999, 0));
  print_calls();
  return 0;
}
