// Jump tables: dense, several in a function, nested, starting below zero, with a hole, with fall-through, in a loop, with calls in
// tail position, and 64-bit ones.
#include "calls.h"

KEPT int dense(int n) {
  CALLED("dense");
  switch (n) {
    case 0: return 17;
    case 1: return 3;
    case 2: return n * 5;
    case 3: return 99;
    case 4: return n - 70;
    case 5: return 1234;
    case 6: return n << 4;
    case 7: return ~n;
    default: return -1;
  }
}

KEPT int below_zero(long n) {
  CALLED("below_zero");
  int sum = 0;
  switch (n) {
    case -4: sum += 1;  // fall through
    case -3: sum += 20; break;
    case -2: sum += 300;  // fall through
    case -1: sum += 4000;  // fall through
    case 0: sum += 50000; break;
    case 3: sum = 7; break;
    case 4: sum = 8 + dense((int)n); break;
    case 5: sum = 9; break;
    default: sum = -9;
  }
  return sum;
}

KEPT int two_tables(unsigned a, unsigned b) {
  CALLED("two_tables");
  int x = 0, y = 0;
  switch (a % 9) {
    case 0: x = dense(1); break;
    case 1: x = 11; break;
    case 2: x = dense(6) + 1; break;
    case 3: x = 31; break;
    case 4: x = (int)b * 3; break;
    case 5: x = 51; break;
    case 6: x = below_zero(-2); break;
    case 7: x = 71; break;
    case 8: x = 81; break;
  }
  switch (b % 7) {
    case 0: y = x; break;
    case 1: y = x * 2 + dense(2); break;
    case 2: y = 21; break;
    case 3: y = x ^ 31; break;
    case 4: y = 41; break;
    case 5: y = x - 51; break;
    case 6: y = 61 - below_zero(-4); break;
  }
  return x * 1000 + y;
}

KEPT int nested(unsigned a, unsigned b) {
  CALLED("nested");
  switch (a) {
    case 0: return 5;
    case 1:
      switch (b) {
        case 0: return dense(3);
        case 1: return 12;
        case 2: return 13 + dense(7);
        case 3: return 14;
        case 4: return 15 * (int)a;
        case 5: return 16;
        default: return 17;
      }
    case 2: return 21;
    case 3:
      switch (b) {
        case 10: return 310;
        case 11: return 311 + dense(4);
        case 12: return 312;
        case 13: return 313 - (int)b;
        case 14: return 314;
        case 15: return dense(5);
        default: return 316;
      }
    case 4: return 41;
    case 5: return dense(dense(1));
    default: return 61;
  }
}

KEPT int tail_one(int n) {
  CALLED("tail_one");
  return n + 1;
}
KEPT int tail_two(int n) {
  CALLED("tail_two");
  return n * 2;
}
KEPT int tail_three(int n) {
  CALLED("tail_three");
  return n - 3;
}

// Each case is a tail call: some compilers put the callees themselves, or jumps to them, after the table.
KEPT int dispatch(int operation, int n) {
  CALLED("dispatch");
  switch (operation) {
    case 0: return tail_one(n);
    case 1: return tail_two(n);
    case 2: return tail_three(n);
    case 3: return tail_one(n + 5);
    case 4: return tail_two(n ^ 5);
    case 5: return tail_three(-n);
    case 6: return dense(n & 7);
    default: return 0;
  }
}

// A state machine in a loop: the table's jump is taken many times in one call.
KEPT unsigned machine(const char* text) {
  CALLED("machine");
  unsigned state = 0, hash = 7;
  for (; *text; ++text) {
    switch (state) {
      case 0: state = *text == 'a' ? 1 : 5; break;
      case 1: hash = hash * 31 + (unsigned)*text; state = 2; break;
      case 2: hash ^= (unsigned)dense(*text & 7); state = 3; break;
      case 3: hash += 11; state = hash & 1 ? 4 : 0; break;
      case 4: hash = hash << 3 | hash >> 29; state = 6; break;
      case 5: hash -= (unsigned)*text; state = hash % 7; break;
      case 6: hash *= 3; state = 0; break;
    }
  }
  return hash;
}

// A wide table: more than 255 entries, few different targets.
KEPT int wide(unsigned n) {
  CALLED("wide");
  switch (n) {
#define FOUR(I) case I: return (I) * 7 + dense(1); case I + 1: return tail_one(I); case I + 2: return (int)n ^ 33; case I + 3: return (I) - 100;
#define SIXTEEN(I) FOUR(I) FOUR(I + 4) FOUR(I + 8) FOUR(I + 12)
    SIXTEEN(0) SIXTEEN(16) SIXTEEN(32) SIXTEEN(48) SIXTEEN(64) SIXTEEN(80) SIXTEEN(96) SIXTEEN(112)
    SIXTEEN(128) SIXTEEN(144) SIXTEEN(160) SIXTEEN(176) SIXTEEN(192) SIXTEEN(208) SIXTEEN(224) SIXTEEN(240)
    SIXTEEN(256) SIXTEEN(272)
    default: return -5;
  }
}

int main(void) {
  CALLED("main");
  long sum = 0;
  for (int i = -3; i < 12; ++i) sum = sum * 3 + dense(i);
  for (long i = -7; i < 9; ++i) sum = sum * 3 + below_zero(i);
  for (unsigned i = 0; i < 20; ++i)
    for (unsigned j = 0; j < 20; ++j) sum += two_tables(i, j) * (int)(i + 1) + nested(i % 7, j);
  for (int i = -1; i < 9; ++i) sum = sum * 5 + dispatch(i, i + 3);
  for (unsigned i = 0; i < 300; ++i) sum = sum * 3 + wide(i);
  printf("%ld %u\n", sum, machine("abracadabra, a machine of states and an alphabet all of its own"));
  print_calls();
  return 0;
}
