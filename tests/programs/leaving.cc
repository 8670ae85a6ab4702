// Functions left by exceptions, longjmp, siglongjmp out of a handler (on a stack of its own too), and what is called
// next, from where.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#ifdef __clang__
#define KEPT extern "C" __attribute__((noinline))
#else
#define KEPT extern "C" __attribute__((noipa))
#endif

static volatile int sink;
static jmp_buf place;
static sigjmp_buf signal_place;

KEPT void next() { sink = sink + 1; }
KEPT void after_throw() { sink = sink + 1; }
KEPT void after_rethrow() { sink = sink + 1; }
KEPT void after_jump() { sink = sink + 1; }
KEPT void after_signal() { sink = sink + 1; }
KEPT void in_destructor() { sink = sink + 1; }
struct Guard {
  ~Guard() { in_destructor(); }
};

KEPT void thrower(int n) {
  next();
  if (n) throw n;
}
KEPT void passes(int n) {
  Guard guard;
  thrower(n);
  next();
}
KEPT void catches(int n) {
  try {
    passes(n);
  } catch (int) {
    after_throw();
  }
  next();
}
KEPT void rethrows(int n) {
  try {
    passes(n);
  } catch (int) {
    after_throw();
    throw;
  }
}
KEPT void catches_again(int n) {
  try {
    rethrows(n);
  } catch (int) {
    after_rethrow();
  }
}
KEPT void jumper(int n) {
  if (n == 0) longjmp(place, 1);
  jumper(n - 1);
  sink = sink + 1;
}
KEPT void lands(int n) {
  if (setjmp(place) == 0) jumper(n);
  after_jump();
}
KEPT void on_signal(int) {
  next();
  siglongjmp(signal_place, 1);
}
KEPT void signalled() {
  next();
  raise(SIGUSR1);
  sink = sink + 1;
}
KEPT void lands_from_signal() {
  if (sigsetjmp(signal_place, 1) == 0) signalled();
  after_signal();
}

int main() {
  for (int i = 0; i < 10; ++i) catches(i % 2);
  for (int i = 0; i < 5; ++i) catches_again(1);
  for (int i = 0; i < 4; ++i) lands(i);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 6; ++i) lands_from_signal();
  stack_t stack = {};
  stack.ss_size = 128 * 1024;
  stack.ss_sp = std::malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 7; ++i) lands_from_signal();
  next();
  return 0;
}
