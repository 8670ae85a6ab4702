// C++ exceptions: through many frames, caught in the middle, rethrown, from constructors and destructors' scopes, through C
// code, across function-try-blocks, kept in an exception_ptr.
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls.h"

static int destroyed, built;

// Counted in functions of their own: one constructor may be two functions.
KEPT static void enter(int number) {
  CALLED("enter(int)");
  ++built;
  if (number == 13) throw std::invalid_argument("thirteen");
}
KEPT static void leave(int number) {
  CALLED("leave(int)");
  destroyed += number;
}
struct Guard {
  int n;
  explicit Guard(int number) : n(number) { enter(number); }
  ~Guard() { leave(n); }
};

KEPT static int thrower(int n) {
  CALLED("thrower(int)");
  if (n % 3 == 0) throw std::runtime_error("three");
  if (n % 5 == 0) throw n;
  if (n % 7 == 0) throw std::string("seven");
  return n;
}
KEPT static int nest(int depth, int n) {
  CALLED("nest(int, int)");
  Guard guard(depth);
  if (depth == 0) return thrower(n);
  int result = nest(depth - 1, n);
  return result + 1;
}
KEPT static int in_the_middle(int n) {
  CALLED("in_the_middle(int)");
  try {
    return nest(4, n);
  } catch (int caught) {
    return -caught;
  }
}
KEPT static int rethrow(int n) {
  CALLED("rethrow(int)");
  try {
    return in_the_middle(n);
  } catch (const std::exception&) {
    Guard guard(n);
    throw;
  }
}
KEPT static int outside(int n) {
  CALLED("outside(int)");
  try {
    try {
      return rethrow(n);
    } catch (const std::string& text) {
      return static_cast<int>(text.size()) * 100;
    }
  } catch (const std::invalid_argument&) {
    return 5555;
  } catch (const std::exception& caught) {
    return static_cast<int>(std::string(caught.what()).size());
  }
}
KEPT static int compare(const void* a, const void* b) {
  CALLED("compare(void const*, void const*)");
  int left = *static_cast<const int*>(a), right = *static_cast<const int*>(b);
  if (left == 50) throw std::out_of_range("fifty");
  return left - right;
}
struct Derived : Guard {
  explicit Derived(int n);
};
Derived::Derived(int n) try : Guard(n) {
} catch (const std::exception&) {
  throw std::logic_error("derived");
}
KEPT static int constructors() {
  CALLED("constructors()");
  int sum = 0;
  for (int i = 10; i < 16; ++i) {
    try {
      Derived derived(i);
      sum += derived.n;
    } catch (const std::logic_error& caught) {
      sum += 1000 + caught.what()[0];
    }
  }
  return sum;
}
KEPT static std::exception_ptr keep(int n) {
  CALLED("keep(int)");
  try {
    thrower(n);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}
KEPT static int selector(int n) {
  CALLED("selector(int)");
  switch (n % 6) {
    case 0:
      try {
        return thrower(n);
      } catch (const std::runtime_error&) {
        return 1;
      }
    case 1: return 2;
    case 2: return 3 + in_the_middle(n * 5);
    case 3: return 4;
    case 4: return static_cast<int>(keep(n) != nullptr);
    default: return 6;
  }
}

int main() {
  CALLED("main");
  long sum = 0;
  for (int i = 0; i < 100; ++i) sum = sum * 3 % 1000003 + outside(i);
  for (int i = 0; i < 60; ++i) sum += selector(i);
  int numbers[] = {5, 50, 7, 3, 1, 9};
  try {
    qsort(numbers, 6, sizeof *numbers, compare);
  } catch (const std::out_of_range& caught) {
    sum += caught.what()[0];
  }
  for (int i = 1; i < 30; ++i) {
    if (std::exception_ptr kept = keep(i)) {
      try {
        std::rethrow_exception(kept);
      } catch (int n) {
        sum += n;
      } catch (...) {
        sum += 2;
      }
    }
  }
  std::printf("%ld %d %d %d\n", sum, constructors(), built, destroyed);
  print_calls();
  return 0;
}
