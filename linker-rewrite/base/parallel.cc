#include "parallel.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace profld {

namespace {

// The threads besides the one that asks for the work.
class Workers {
 public:
  Workers() {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    threads_.reserve(cores);
    try {
      for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { wait_for_work(); });
    } catch (const std::exception&) {
      // The system gives us no more threads: go on with these.
    }
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  void run(const std::function<void()>& work) {
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      ++round_;
      running_ = threads_.size();
      failure_ = nullptr;
    }
    changed_.notify_all();
    call(work);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void call(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void wait_for_work() {
    for (uint64_t done = 0;; ++done) {
      const std::function<void()>* work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || round_ != done; });
        if (ended_) return;
        work = work_;
      }
      call(*work);
      {
        std::lock_guard lock(mutex_);
        --running_;
      }
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  uint64_t round_ = 0;  // how often there was work
  size_t running_ = 0;  // threads that have not yet done this round's
  bool ended_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// Sets a flag until the end of the scope.
class Set {
 public:
  explicit Set(bool& flag) : flag_(flag) { flag_ = true; }
  ~Set() { flag_ = false; }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  bool& flag_;
};

}  // namespace

void on_all_cores(const std::function<void()>& work) {
  static Workers workers;
  thread_local bool inside = false;
  if (inside) return work();
  workers.run([&] {
    const Set until_done(inside);
    work();
  });
}

}  // namespace profld
