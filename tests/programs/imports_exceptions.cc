// Exceptions that pass through imported functions, and out of them.
#include <stdio.h>
#include <stdlib.h>

#include <stdexcept>
#include <string>

#include "calls.h"

KEPT static void after() { CALLED("after()"); }

struct Cleaned {
  KEPT ~Cleaned();
};
Cleaned::~Cleaned() {
  CALLED("Cleaned::~Cleaned()");
  after();
}

static int compared;
KEPT static int compare(const void* a, const void* b) {
  CALLED("compare(void const*, void const*)");
  if (compared > 0 && --compared == 0) throw 7;
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

// The first function that is called when the exception arrives is a destructor.
KEPT static void sorts(int throw_at) {
  CALLED("sorts(int)");
  Cleaned cleaned;
  int numbers[] = {5, 3, 9, 1, 7, 2, 8};
  compared = throw_at;
  qsort(numbers, 7, sizeof *numbers, compare);
  printf("%d %d\n", numbers[0], numbers[6]);
}

KEPT static void catches(int throw_at) {
  CALLED("catches(int)");
  try {
    sorts(throw_at);
  } catch (int n) {
    printf("caught %d\n", n);
    after();
  }
  after();
}

// Thrown and caught in one function.
KEPT static void throws(int n) {
  CALLED("throws(int)");
  try {
    Cleaned cleaned;
    if (n > 0) throw n;
  } catch (int caught) {
    after();
    printf("caught %d\n", caught);
  }
}

// Thrown by the library.
KEPT static void library(const std::string& text) {
  CALLED("library(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)");
  try {
    Cleaned cleaned;
    printf("%zu\n", std::stoul(text) + text.at(3));
  } catch (const std::invalid_argument&) {
    after();
    puts("no number");
  } catch (const std::out_of_range&) {
    after();
    puts("out of range");
  }
}

KEPT static int compare_and_throw_again(const void* a, const void* b) {
  CALLED("compare_and_throw_again(void const*, void const*)");
  try {
    return compare(a, b);
  } catch (...) {
    after();
    throw;
  }
}

KEPT static void rethrows() {
  CALLED("rethrows()");
  int numbers[] = {5, 3, 9, 1, 7, 2, 8};
  compared = 2;
  try {
    qsort(numbers, 7, sizeof *numbers, compare_and_throw_again);
  } catch (int n) {
    after();
  }
}

int main() {
  CALLED("main");
  for (int i = 0; i < 10; ++i) catches(i % 2 ? 3 : 0);
  throws(0);
  throws(4);
  library("5500");
  library("55");
  library("x");
  rethrows();
  print_calls();
}
