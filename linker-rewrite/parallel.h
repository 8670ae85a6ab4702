// Independent work on all cores: function(i) for every i in [0, count), in no particular order.

#ifndef LINKER_REWRITE_PARALLEL_H
#define LINKER_REWRITE_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

namespace profld {

// Calls `work` on every core, once on each, and returns when all calls have returned. The threads are the same each
// time, so that what they keep (thread_local) lasts. Throws the first exception that a call throws. Not from several
// threads at once, nor from within `work`.
void on_all_cores(const std::function<void()>& work);

// Takes `batch` indexes at a time, so that the shared counter is rarely touched.
template <class Function>
void parallel_for(size_t count, Function function, size_t batch = 64) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t from; (from = next.fetch_add(batch)) < count;)
      for (size_t i = from; i < std::min(from + batch, count); ++i) function(i);
  };
  if (count <= batch) return work();
  on_all_cores(work);
}

// What function(i, out) appends to `out`, a std::vector<T>&, for every i in [0, count): together, in the order of i.
template <class T, class Function>
std::vector<T> parallel_collect(size_t count, Function function) {
  constexpr size_t kBatch = 64;
  std::vector<std::vector<T>> parts((count + kBatch - 1) / kBatch);
  parallel_for(
      parts.size(),
      [&](size_t part) {
        for (size_t i = part * kBatch; i < std::min(part * kBatch + kBatch, count); ++i) function(i, parts[part]);
      },
      1);
  size_t size = 0;
  for (const std::vector<T>& part : parts) size += part.size();
  std::vector<T> all;
  all.reserve(size);
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace profld

#endif
