// Tail calls in each place where they may go wrong: main calls every case three times, one after the other, always at the same
// depth of the stack. tests/e2e/running/tail_trees.sh has the tree.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cstdio>

#define KEPT extern "C" __attribute__((noinline, used))
#define BEGIN asm volatile("")

KEPT long leaf(long n) {
  BEGIN;
  return n ^ 0x55;
}
KEPT long after(long n) {
  BEGIN;
  return n + 7;
}

KEPT long direct(long n) {
  BEGIN;
  return leaf(n + 1);
}
KEPT long twice(long n) {
  BEGIN;
  return direct(n + 1);
}
KEPT long conditional(long n) {
  BEGIN;
  if (n & 1) return leaf(n);
  return n;
}
KEPT long calls_and_jumps(long n) { return leaf(leaf(n) + 1); }

extern "C" {
long (*volatile pointer)(long) = leaf;
}
KEPT long indirect(long n) {
  BEGIN;
  return pointer(n);
}

// Round and round.
KEPT long pong(long n, long sum);
KEPT long ping(long n, long sum) {
  BEGIN;
  if (n == 0) return sum;
  return pong(n - 1, sum + n);
}
KEPT long pong(long n, long sum) {
  BEGIN;
  if (n == 0) return -sum;
  return ping(n - 1, sum ^ n);
}
extern "C" {
long state0(long, long), state1(long, long), state2(long, long);
}
static long (*volatile states[])(long, long) = {state0, state1, state2};
KEPT long state0(long n, long sum) {
  BEGIN;
  if (n == 0) return sum;
  return states[(n * n) % 3](n - 1, sum + leaf(n));
}
KEPT long state1(long n, long sum) {
  BEGIN;
  if (n == 0) return sum + 1;
  return states[n % 3](n - 1, sum ^ n);
}
KEPT long state2(long n, long sum) {
  BEGIN;
  if (n == 0) return sum + 2;
  return states[n / 3 % 3](n - 1, sum - n);
}

// Functions that the test leaves without hooks.
KEPT long unhooked(long n) {
  BEGIN;
  return n - 3;
}
KEPT long jumps_to_unhooked(long n) {
  BEGIN;
  return unhooked(n);
}
KEPT long unhooked_that_calls(long n) { return leaf(n) - 1; }
extern "C" {
long (*volatile unhooked_pointer)(long) = unhooked;
}
KEPT long jumps_through_pointer(long n) {
  BEGIN;
  return unhooked_pointer(n);
}

// Ends that are no returns.
KEPT long thrower(long n) {
  if (n >= 0) throw n;
  return n;
}
KEPT long jumps_to_thrower(long n) {
  BEGIN;
  return thrower(n + 1);
}
KEPT long catches(long n) {
  try {
    return jumps_to_thrower(n);
  } catch (long thrown) {
    return thrown + after(n);
  }
}
static jmp_buf place;
KEPT long far_jump(long n) {
  BEGIN;
  longjmp(place, int(n | 1));
}
extern "C" {
long (*volatile far_pointer)(long) = far_jump;
}
KEPT long jumps_to_far_jump(long n) {
  BEGIN;
  return far_pointer(n);
}
KEPT long comes_back(long n) {
  if (setjmp(place) == 0) return jumps_to_far_jump(n);
  return after(n);
}

// Other stacks.
KEPT void handled(int n) { leaf(n); }
KEPT void handler(int n) {
  BEGIN;
  return handled(n + 1);
}
KEPT long raises(long n) {
  raise(SIGUSR1);
  return after(n);
}
KEPT long jumps_and_raises(long n) {
  BEGIN;
  return raises(n);
}
static ucontext_t resumer, fiber;
KEPT long yields(long n) {
  swapcontext(&fiber, &resumer);
  return after(n);
}
KEPT long jumps_and_yields(long n) {
  BEGIN;
  return yields(n);
}
KEPT void runs_on_fiber(void) {
  jumps_and_yields(3);
  leaf(4);
}
KEPT long resumes(long n) {
  static char stack[65536];
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = sizeof stack;
  fiber.uc_link = &resumer;
  makecontext(&fiber, runs_on_fiber, 0);
  swapcontext(&resumer, &fiber);
  after(n);
  swapcontext(&resumer, &fiber);
  return n;
}

KEPT long many(long a, long b, long c, long d, long e, long f, long g, long h) {
  BEGIN;
  return a + 2 * b - 3 * c + d + e + f + 5 * g - h;
}
KEPT long with_stack(long a, long b, long c, long d, long e, long f, long g, long h) {
  BEGIN;
  return many(b, a, d, c, f, e, h, g);
}

KEPT long burn(long n) {
  for (long i = 0; i < 200000000; ++i) asm volatile("" : "+r"(n));
  return n;
}
KEPT long jumps_to_burn(long n) {
  BEGIN;
  return burn(n);
}

#define CASE(call) \
  sum += call;     \
  sum += after(sum);

int main() {
  static char stack[65536];
  const stack_t signal_stack = {stack, 0, sizeof stack};
  sigaltstack(&signal_stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  long sum = 0;
  for (long i = 0; i < 3; ++i) {
    action.sa_flags ^= SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    CASE(direct(i))
    CASE(twice(i))
    CASE(conditional(i))
    CASE(calls_and_jumps(i))
    CASE(indirect(i))
    CASE(ping(1000, i))
    CASE(state0(1000, i))
    CASE(jumps_to_unhooked(i))
    CASE(jumps_through_pointer(i))
    unhooked_pointer = unhooked_that_calls;
    CASE(jumps_through_pointer(i))
    unhooked_pointer = unhooked;
    CASE(catches(i))
    CASE(comes_back(i))
    CASE(jumps_and_raises(i))
    CASE(resumes(i))
    CASE(with_stack(i, 2, 3, 4, 5, 6, 7, 8))
  }
  sum += ping(1000000, 1) + jumps_to_burn(1);
  std::printf("%ld\n", sum);
  return 0;
}
