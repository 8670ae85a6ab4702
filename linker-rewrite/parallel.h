// Independent work on all cores: function(i) for every i in [0, count), in no particular order.

#ifndef LINKER_REWRITE_PARALLEL_H
#define LINKER_REWRITE_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace profld {

template <class Function>
void parallel_for(size_t count, Function function) {
  constexpr size_t kBatch = 64;  // indexes taken at a time, so that the shared counter is rarely touched
  const size_t workers = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), count / kBatch + 1);
  std::atomic<size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto work = [&] {
    try {
      for (size_t from; (from = next.fetch_add(kBatch)) < count;)
        for (size_t i = from; i < std::min(from + kBatch, count); ++i) function(i);
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace profld

#endif
