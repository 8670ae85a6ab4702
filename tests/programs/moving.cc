// moving: coroutines that threads hand to one another: those of C++20, and some with stacks of their own (ucontext).
// Prints "calls NAME N".

#include <sys/mman.h>
#include <ucontext.h>

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "calls.h"

namespace {

constexpr int kThreads = 4, kCoroutines = 40, kSteps = 100;

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// With a stack of its own.
struct Fiber {
  ucontext_t own, resumer;
  bool is_done;
};
thread_local Fiber* current;
// The address of a thread-local variable must not be kept across a change of thread.
KEPT Fiber* current_fiber() { return current; }

extern "C" KEPT int leaf(int x) {
  CALLED("leaf");
  return x;
}
extern "C" KEPT int middle(int x) {
  CALLED("middle");
  return leaf(x) + leaf(x);
}
Task coroutine() {
  for (int i = 0; i < kSteps; i++) {
    middle(i);
    co_await std::suspend_always();
  }
}
extern "C" KEPT void pause_fiber(Fiber* fiber) {
  CALLED("pause_fiber");
  swapcontext(&fiber->own, &fiber->resumer);
}
extern "C" KEPT int nest(Fiber* fiber, int depth) {
  CALLED("nest");
  if (depth == 0) {
    pause_fiber(fiber);
  } else {
    nest(fiber, depth - 1);
    leaf(depth);  // no tail call
  }
  return leaf(depth);
}
void run_fiber() {
  Fiber* fiber = current_fiber();
  for (int i = 0; i < kSteps; i++) {
    nest(fiber, i % 5);
    middle(i);
  }
  fiber->is_done = true;
  for (;;) pause_fiber(fiber);
}

std::mutex mutex;
std::deque<std::coroutine_handle<Task::promise_type>> coroutines;
std::deque<Fiber*> fibers;

extern "C" KEPT bool step() {
  CALLED("step");
  std::coroutine_handle<Task::promise_type> handle;
  Fiber* fiber = nullptr;
  {
    std::lock_guard lock(mutex);
    if (coroutines.empty() && fibers.empty()) return false;
    if (!coroutines.empty()) {
      handle = coroutines.front();
      coroutines.pop_front();
    }
    if (!fibers.empty()) {
      fiber = fibers.front();
      fibers.pop_front();
    }
  }
  if (handle) {
    handle.resume();
    if (handle.done())
      handle.destroy();
    else if (std::lock_guard lock(mutex); true)
      coroutines.push_back(handle);
  }
  if (fiber) {
    current = fiber;
    swapcontext(&fiber->resumer, &fiber->own);
    if (!fiber->is_done) {
      std::lock_guard lock(mutex);
      fibers.push_back(fiber);
    }
  }
  return true;
}

}  // namespace

int main() {
  for (int i = 0; i < kCoroutines; i++) {
    coroutines.push_back(coroutine().handle);
    auto* fiber = new Fiber();
    constexpr size_t kSize = 16384;
    getcontext(&fiber->own);
    fiber->own.uc_stack.ss_sp = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fiber->own.uc_stack.ss_size = kSize;
    makecontext(&fiber->own, run_fiber, 0);
    fibers.push_back(fiber);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([] {
      while (step()) {
      }
    });
  }
  for (auto& t : threads) t.join();
  print_calls();
}
