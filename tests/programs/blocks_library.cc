// A library for blocks_library_host.cc: ways in and out of it, a statement on each line.

#include <csetjmp>
#include <stdexcept>
#include <unistd.h>

namespace {

int cleaned = 0;

struct Cleaner {
  ~Cleaner() { ++cleaned; }
};

int risky(int n) {
  if (n % 5 == 0) throw std::runtime_error("five");
  if (n % 7 == 0) throw n;
  return n;
}

}  // namespace

extern "C" long count_odd(long n) {
  long odd = 0;
  for (long i = 0; i < n; i++) {
    if (i % 3 == 1) odd++;
  }
  return odd;
}

// Throws some of what it is given.
extern "C" int may_throw(int n) {
  Cleaner cleaner;
  int result = 0;
  try {
    result = risky(n);
  } catch (int i) {  // two ways in
    result = -i;
  }
  return result;
}  // two ways in

// What is called may throw, or go elsewhere.
extern "C" int call_back(int (*function)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += function(i);
  }
  return sum;
}

extern "C" void jump_back(jmp_buf* buffer, int n) {
  for (int i = 0; i < n; i++) {
    if (i == 7) longjmp(*buffer, i);
  }
  cleaned++;
}

// gcov keeps counts of before from children that its own fork makes.
extern "C" pid_t fork_child() {
  return fork();  // two ways in
}  // two ways in
