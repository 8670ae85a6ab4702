// Independent work on all cores: function(i) for every i in [0, count), in no particular order.

#ifndef LINKER_REWRITE_BASE_PARALLEL_H
#define LINKER_REWRITE_BASE_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

namespace profld {

// Calls `work` on every core, once on each, and returns when all calls have returned. The threads are the same each
// time, so that what they keep (thread_local) lasts. Throws the first exception that a call throws. Must not be called
// from several threads at once. If `work` calls it, the calling thread does all of that work alone.
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

// Calls function(i, out) for every i in [0, count). Returns all that the calls append to `out`, a std::vector<T>&, in
// the order of i. Takes `batch` indexes at a time.
template <class T, class Function>
std::vector<T> parallel_collect(size_t count, Function function, size_t batch = 64) {
  std::vector<std::vector<T>> parts((count + batch - 1) / batch);
  parallel_for(
      parts.size(),
      [&](size_t part) {
        for (size_t i = part * batch; i < std::min((part + 1) * batch, count); ++i) function(i, parts[part]);
      },
      1);
  size_t size = 0;
  for (const std::vector<T>& part : parts) size += part.size();
  std::vector<T> all;
  all.reserve(size);
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Not stable. In parts on all cores, which are then merged.
template <class T, class Less = std::less<T>>
void parallel_sort(std::vector<T>& v, Less less = Less()) {
  constexpr size_t kParts = 16, kFew = 1 << 12;
  if (v.size() < kFew) return std::sort(v.begin(), v.end(), less);
  auto start = [&](size_t part) { return v.begin() + ptrdiff_t(v.size() * std::min(part, kParts) / kParts); };
  parallel_for(
      kParts, [&](size_t part) { std::sort(start(part), start(part + 1), less); }, 1);
  for (size_t width = 1; width < kParts; width *= 2)
    parallel_for(
        kParts / (2 * width),
        [&](size_t pair) {
          const size_t first = 2 * width * pair;
          std::inplace_merge(start(first), start(first + width), start(first + 2 * width), less);
        },
        1);
}

}  // namespace profld

#endif
