// Small loops of all forms, each in a function that returns how often the loop's body ran; prints "FUNCTION TIMES" of each;
// of one that is left in its middle, TIMES is one more or less, as the compiler laid it out.
// With the word endless: one of them until the program is killed; with a number: so many divisions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP __attribute__((noinline)) static long

static int numbers[4096];
static char text[4096];
static double squares[64];
static volatile long sink;
struct item {
  struct item* next;
  long value;
};
static struct item items[500];

LOOP sum(long n) {
  long s = 0, i = 0;
  for (; i < n; ++i) s += numbers[i];
  sink = s;
  return i;
}
LOOP length(const char* p) {
  const char* end = p;
  while (*end) ++end;
  return end - p;
}
LOOP store(long n) {
  long i = 0;
  for (; i < n; ++i) text[i] = (char)(i * 3 % 7 + 1);
  return i;
}
LOOP list(const struct item* p) {
  long s = 0, n = 0;
  for (; p; p = p->next) s += p->value, ++n;
  sink = s;
  return n;
}
// Several blocks, one way on from them or the other.
LOOP choose(long n) {
  long s = 0, i = 0;
  for (; i < n; ++i) {
    if (numbers[i] % 3 == 0)
      s += numbers[i];
    else
      s ^= i;
  }
  sink = s;
  return i;
}
// Goes on in the middle, and ends there, in another round.
LOOP search(int wanted) {
  long i = 0;
  for (;; ++i) {
    if (numbers[i] == wanted) break;
    if (numbers[i] > wanted * 2) continue;
    sink ^= i;
  }
  return i;
}
LOOP divide(long n) {
  long s = 1, i = 0;
  do {
    s += 1000000007 / ((s & 1023) + 1);  // the division
    ++i;
  } while (i != n);
  sink = s;
  return i;
}
LOOP doubles(long n) {
  double s = 0;
  long i = 0;
  for (; i < n; ++i) s += squares[i & 63] * squares[i & 31];
  sink = (long)s;
  return i;
}
// A loop of loops: the inner one ran so often.
LOOP nested(long n) {
  long s = 0, all = 0;
  for (long i = 0; i < n; ++i) {
    long j = 0;
    for (; j < i; ++j) s += numbers[j];
    all += j;
  }
  sink = s;
  return all;
}
LOOP endless(void) {
  for (long i = 0;; ++i) numbers[i & 4095] ^= (int)i;
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 4096; ++i) numbers[i] = i * 7919 % 4001;
  for (int i = 0; i < 64; ++i) squares[i] = i * i;
  for (int i = 0; i < 500; ++i) items[i] = (struct item){i + 1 < 500 ? &items[i + 1] : NULL, i};
  if (argc > 1 && strcmp(argv[1], "endless") == 0) return (int)endless();
  if (argc > 1) return divide(atol(argv[1])) == 0;
  printf("sum %ld\n", sum(4093));
  printf("store %ld\n", store(3001));
  printf("length %ld 3002\n", length(text));
  printf("list %ld\n", list(items));
  printf("choose %ld\n", choose(2047));
  printf("search %ld\n", search(17));
  printf("divide %ld\n", divide(100003));
  printf("doubles %ld\n", doubles(777));
  printf("nested %ld\n", nested(150));
  return 0;
}
