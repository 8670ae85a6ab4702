// Functions that run for some 5 to 500 cycles a call, each for a like part of the time: sizes ROUNDS
#include <cstdio>
#include <cstdlib>

#include "../bodies.h"

namespace {

template <class Kind, uint64_t Size>
__attribute__((noipa)) uint64_t work(uint64_t x) {
  return Kind::run(Size, x);
}

// In bunches of calls, as programs make them.
template <class Kind, uint64_t Size>
__attribute__((noipa)) uint64_t drive(uint64_t x) {
  for (uint64_t i = 0; i < 1 + 2000 / (Size + 5); ++i) x += work<Kind, Size>(x + i);
  return x;
}

uint64_t round(uint64_t x) {
  x = drive<Chain, 500>(drive<Chain, 200>(drive<Chain, 100>(drive<Chain, 50>(drive<Chain, 20>(drive<Chain, 5>(x))))));
  x = drive<Wide, 500>(drive<Wide, 200>(drive<Wide, 100>(drive<Wide, 50>(drive<Wide, 20>(drive<Wide, 5>(x))))));
  return drive<Table, 50>(drive<Table, 20>(drive<Table, 10>(drive<Table, 3>(x))));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t x = 0;
  for (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; --i) x = round(x);
  std::printf("%lu\n", x);
}
