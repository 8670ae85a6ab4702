// Signal handlers that throw (-fnon-call-exceptions): a fault in the middle of a function is caught in it or further
// up, after the destructors between; the handler may be on a stack of its own, and functions go on being counted at the
// right place.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "calls.h"

static volatile int destroyed;

KEPT static void destroy(int n) {
  CALLED("destroy(int)");
  destroyed = destroyed + n;
}
struct Guard {
  int n;
  ~Guard() { destroy(n); }
};
struct Fault : std::runtime_error {
  int signal;
  explicit Fault(int s) : std::runtime_error("fault"), signal(s) {}
};
KEPT static void on_fault(int signal) {
  CALLED("on_fault(int)");
  throw Fault(signal);
}
KEPT static int read(const volatile int* place) {
  CALLED("read(int const volatile*)");
  Guard guard{1};
  return *place;
}
KEPT static int divide(int a, int b) {
  CALLED("divide(int, int)");
  int before = a + 1;
  {
    Guard guard{10};
    before = a / b;
  }
  return before;
}
// The fault lies in the range of a handler of its own, between calls.
KEPT static int here(int n, volatile int* place) {
  CALLED("here(int, int volatile*)");
  Guard guard{100};
  int result = divide(n, 3);
  try {
    result += *place;
    result += divide(result, 2);
  } catch (const Fault& fault) {
    result -= fault.signal;
  }
  try {
    *place = result;
  } catch (...) {
    result *= 2;
  }
  return result + divide(n, 7);
}
KEPT static int outer(int n) {
  CALLED("outer(int)");
  static int zero, good = 5;
  int* const bad = reinterpret_cast<int*>(16);
  Guard guard{1000};
  int sum = here(n, n % 2 ? &good : bad);
  try {
    sum += read(n % 3 ? &good : bad);
    sum += divide(n, zero + n % 5);
  } catch (const Fault& fault) {
    sum += fault.signal * 100;
    if (n % 7 == 0) throw;
  }
  return sum;
}

int main() {
  CALLED("main");
  struct sigaction action = {};
  action.sa_handler = on_fault;
  action.sa_flags = SA_NODEFER;  // it never returns
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGFPE, &action, nullptr);
  long sum = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 120; ++i) {
      try {
        sum = sum * 7 % 1000003 + outer(i);
      } catch (const Fault& fault) {
        sum += fault.signal;
      }
    }
    // Again, with the handlers on a stack of their own.
    stack_t stack = {};
    stack.ss_size = 256 * 1024;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    action.sa_flags = SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
  }
  std::printf("%ld %d\n", sum, destroyed);
  print_calls();
  return 0;
}
