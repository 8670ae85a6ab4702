// Loops that take about so many cycles as their size says, for functions of known cost. Three kinds: a chain waits for
// one result after the other, so that the processor has room for hooks beside it; wide work keeps all of its units
// busy; a table is read and written.

#ifndef TESTS_BENCH_BODIES_H
#define TESTS_BENCH_BODIES_H

#include <cstdint>

inline uint64_t memory[1024];

struct Chain {
  static constexpr const char* kName = "chain";
  static uint64_t run(uint64_t n, uint64_t x) {
    for (; n; --n) asm volatile("lea 1(%0), %0" : "+r"(x));
    return x;
  }
};
struct Wide {
  static constexpr const char* kName = "wide";
  static uint64_t run(uint64_t n, uint64_t x) {
    uint64_t a = x, b = x, c = x;
    for (; n; --n) asm volatile("add $1, %0\n\txor $3, %1\n\tadd $5, %2\n\txor $7, %0" : "+r"(a), "+r"(b), "+r"(c));
    return a + b + c;
  }
};
struct Table {
  static constexpr const char* kName = "table";
  static uint64_t run(uint64_t n, uint64_t x) {
    for (; n; --n) {
      uint64_t& word = memory[(x + n * 7) % 1024];
      word += n;
      x += word & 1;
    }
    return x;
  }
};

#endif
