// A million calling contexts: a thousand functions, each of which calls a thousand others once; or FUNCTIONS of them.

#include <utility>

#ifndef FUNCTIONS
#define FUNCTIONS 1000
#endif
constexpr int kFunctions = FUNCTIONS;
using Function = void (*)();

volatile int calls;

template <int N>
__attribute__((noipa)) void callee() {
  calls = calls + N % 2;
}

template <int N>
__attribute__((noipa)) void caller(const Function* callees) {
  for (int i = 0; i < kFunctions; ++i) callees[i]();
  calls = calls + N % 2;
}

template <int... N>
void call_all(std::integer_sequence<int, N...>) {
  static const Function callees[] = {callee<N>...};
  (caller<N>(callees), ...);
}

int main() { call_all(std::make_integer_sequence<int, kFunctions>()); }
