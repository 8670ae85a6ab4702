// A vector as a set: ascending, each element once.

#ifndef LINKER_REWRITE_BASE_SORT_UNIQUE_H
#define LINKER_REWRITE_BASE_SORT_UNIQUE_H

#include <algorithm>
#include <vector>

namespace profld {

template <class T>
void sort_unique(std::vector<T>& v) {
  std::ranges::sort(v);
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace profld

#endif
