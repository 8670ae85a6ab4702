// truth [ROUNDS]: loops whose cost is known, to hold the times in a profile against.
//
// Each body exists twice: work() gets hooks; bare(), which profld is told to leave out, is timed here, around many
// calls. The two take turns, a few hundred microseconds each, so that both meet the same clock rate of the processor
// and the same other load. Three kinds: a chain waits for one result after the other, so that the processor has room
// for the hooks beside it; wide work keeps all of its units busy; a table is read and written.
//
// Prints a line for each body: KIND SIZE CALLS CYCLES, cycles of all calls of bare() and of the loop that makes them,
// by the time-stamp counter. Size 0 is the empty body.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bodies.h"

#define KEPT __attribute__((noipa))

namespace {

template <class Kind, uint64_t Size>
KEPT uint64_t work(uint64_t x) {
  return Kind::run(Size, x);
}
template <class Kind, uint64_t Size>
KEPT uint64_t bare(uint64_t x) {
  return Kind::run(Size, x);
}
template <class Kind, uint64_t Size>
KEPT uint64_t drive_work(uint64_t calls, uint64_t x) {
  for (uint64_t i = 0; i < calls; ++i) x += work<Kind, Size>(x + i);
  return x;
}
template <class Kind, uint64_t Size>
KEPT uint64_t drive_bare(uint64_t calls, uint64_t x) {
  for (uint64_t i = 0; i < calls; ++i) x += bare<Kind, Size>(x + i);
  return x;
}

struct Subject {
  const char* kind;
  uint64_t size;
  uint64_t (*work)(uint64_t calls, uint64_t x);
  uint64_t (*bare)(uint64_t calls, uint64_t x);
  uint64_t calls = 0, cycles = 0;
};

template <class Kind, uint64_t Size>
Subject subject() {
  return {Kind::kName, Size, drive_work<Kind, Size>, drive_bare<Kind, Size>};
}

Subject subjects[] = {
    subject<Chain, 0>(),      subject<Chain, 10>(),      subject<Chain, 50>(),   subject<Chain, 100>(),
    subject<Chain, 200>(),    subject<Chain, 500>(),     subject<Chain, 1000>(), subject<Chain, 10000>(),
    subject<Chain, 100000>(), subject<Chain, 1000000>(), subject<Wide, 10>(),    subject<Wide, 50>(),
    subject<Wide, 100>(),     subject<Wide, 200>(),      subject<Wide, 500>(),   subject<Wide, 1000>(),
    subject<Wide, 10000>(),   subject<Table, 10>(),      subject<Table, 50>(),   subject<Table, 100>(),
    subject<Table, 500>(),    subject<Table, 10000>(),
};

// Cycles that the hooked calls of one turn are to take.
constexpr uint64_t kTurn = 1'000'000;

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  uint64_t x = 0;
  for (int round = 0; round < rounds; ++round) {
    for (Subject& s : subjects) {
      const uint64_t calls = std::max<uint64_t>(kTurn / (s.size + 50), 1);
      x += s.work(calls, x);
      const uint64_t start = __builtin_ia32_rdtsc();
      x += s.bare(calls, x);
      s.cycles += __builtin_ia32_rdtsc() - start;
      s.calls += calls;
    }
  }
  for (const Subject& s : subjects) std::printf("%s %lu %lu %lu\n", s.kind, s.size, s.calls, s.cycles);
  return x == 1;
}
