// Calls that do next to nothing: calls MODE ROUNDS. Modes: one (a function, always the same), many (200 in turn),
// fib (recursion), deep (chains of 300), virtual (through a vtable, four classes in turn), threads1 to threads8 (so
// many threads, which share the rounds, each calling one function).

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#define KEPT __attribute__((noinline, noclone))

namespace {

volatile unsigned sink;

KEPT unsigned one(unsigned n) { return n + sink; }

KEPT void share(unsigned rounds) {
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; ++i) sum += one(i);
  sink = sum;
}

template <int I>
KEPT unsigned numbered(unsigned n) {
  return n * unsigned(I) + sink;
}

template <int... I>
void many(unsigned rounds, std::integer_sequence<int, I...>) {
  unsigned (*const functions[])(unsigned) = {numbered<I>...};
  for (unsigned i = 0; i < rounds; ++i) sink = functions[i % sizeof...(I)](i);
}

KEPT unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

KEPT unsigned deep(unsigned n) { return n == 0 ? sink : deep(n - 1) + 1; }

struct Shape {
  virtual unsigned area(unsigned n) const = 0;
  virtual ~Shape() = default;
};
template <int I>
struct Sized : Shape {
  KEPT unsigned area(unsigned n) const override { return n * unsigned(I); }
};

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 2 ? argv[1] : "";
  const unsigned rounds = argc > 2 ? unsigned(std::atoi(argv[2])) : 0;
  if (!std::strcmp(mode, "one")) {
    for (unsigned i = 0; i < rounds; ++i) sink = one(i);
  } else if (!std::strcmp(mode, "many")) {
    many(rounds, std::make_integer_sequence<int, 200>());
  } else if (!std::strcmp(mode, "fib")) {
    sink = fib(rounds);
  } else if (!std::strcmp(mode, "deep")) {
    for (unsigned i = 0; i < rounds / 300; ++i) sink = deep(299);
  } else if (!std::strcmp(mode, "virtual")) {
    const Sized<1> a;
    const Sized<2> b;
    const Sized<3> c;
    const Sized<4> d;
    const Shape* const shapes[] = {&a, &b, &c, &d};
    for (unsigned i = 0; i < rounds; ++i) sink = shapes[i % 4]->area(i);
  } else if (!std::strncmp(mode, "threads", 7) && mode[7] >= '1' && mode[7] <= '8') {
    const unsigned number = unsigned(mode[7] - '0');
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < number; ++i) threads.emplace_back(share, rounds / number);
    for (std::thread& t : threads) t.join();
  } else {
    std::fputs("usage: calls one|many|fib|deep|virtual|threads1..8 ROUNDS\n", stderr);
    return 2;
  }
  std::printf("%u\n", sink);
}
