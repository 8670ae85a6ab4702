// Threads that end early: pthread_exit and cancellation, deferred and asynchronous, through frames with destructors,
// cleanup handlers and catch (...) blocks, C frames among them, and thread-local destructors at the end.
#include <cxxabi.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "calls.h"

static std::atomic<long> destroyed, cleaned, caught, cancelled;
static sem_t ready;

KEPT static void destroy(long n) {
  CALLED("destroy(long)");
  destroyed += n;
}
struct Guard {
  long n;
  ~Guard() { destroy(n); }
};
KEPT static void clean(void* n) {
  CALLED("clean(void*)");
  cleaned += *static_cast<long*>(n);
}
struct AtEnd {
  long n = 0;
  ~AtEnd() { destroy(n); }
};
static thread_local AtEnd at_end;

KEPT static int leave(const void* a, const void*) {
  CALLED("leave(void const*, void const*)");
  if (*static_cast<const long*>(a) > 0) pthread_exit(const_cast<void*>(a));
  return 0;
}
// pthread_exit in a callback of a C function.
KEPT static void sort_and_leave(long* numbers) {
  CALLED("sort_and_leave(long*)");
  Guard guard{1};
  qsort(numbers, 2, sizeof *numbers, leave);
}
KEPT static void* exits(void* numbers) {
  CALLED("exits(void*)");
  at_end.n = 1000;
  Guard guard{10};
  try {
    sort_and_leave(static_cast<long*>(numbers));
  } catch (abi::__forced_unwind&) {
    ++caught;
    throw;
  }
  return nullptr;
}
KEPT static void wait_forever(long depth) {
  CALLED("wait_forever(long)");
  Guard guard{depth};
  if (depth > 0) {
    wait_forever(depth - 1);
    return;
  }
  sem_post(&ready);
  for (;;) pause();
}
KEPT static void* deferred(void* number) {
  CALLED("deferred(void*)");
  at_end.n = 1000;
  pthread_cleanup_push(clean, number);
  try {
    wait_forever(5);
  } catch (...) {
    ++caught;
    throw;
  }
  pthread_cleanup_pop(0);
  return nullptr;
}
// Cancelled at any instruction, hooks included; they must have no handlers of their own.
KEPT static void spin() {
  CALLED("spin()");
  volatile long spins = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  sem_post(&ready);
  for (;;) spins = spins + 1;
}
KEPT static int count(int n) { return n < 2 ? n : count(n - 1) + count(n - 2); }
KEPT static void spin_in_calls() {
  CALLED("spin_in_calls()");
  volatile int sum = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  sem_post(&ready);
  for (;;) sum = sum + count(5);
}
KEPT static void* asynchronous(void* number) {
  CALLED("asynchronous(void*)");
  Guard guard{100};
  pthread_cleanup_push(clean, number);
  if (++cancelled % 2) spin();
  spin_in_calls();
  pthread_cleanup_pop(0);
  return nullptr;
}

int main() {
  CALLED("main");
  sem_init(&ready, 0, 0);
  long numbers[2] = {7, 7}, number = 3, ended = 0;
  void* (*const kinds[])(void*) = {exits, deferred, asynchronous, asynchronous};
  for (int round = 0; round < 25; ++round) {
    for (auto kind : kinds) {
      pthread_t thread;
      void* result = nullptr;
      pthread_create(&thread, nullptr, kind, kind == exits ? static_cast<void*>(numbers) : &number);
      if (kind != exits) {
        sem_wait(&ready);
        if (round % 3 == 0) usleep(unsigned(round * 37));
        pthread_cancel(thread);
      }
      pthread_join(thread, &result);
      ended += result == PTHREAD_CANCELED ? 1 : result == numbers || result == numbers + 1 ? 1000 : 1000000;
    }
  }
  printf("%ld destroyed, %ld cleaned, %ld caught, %ld ended\n", destroyed.load(), cleaned.load(), caught.load(), ended);
  print_calls();
  return 0;
}
