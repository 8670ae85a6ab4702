// How many there are of something, in words.

#ifndef TEXT_COUNT_H
#define TEXT_COUNT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace prof_text {

// "1 function was", "2 functions were"
inline std::string count_of(uint64_t n, std::string_view one, std::string_view several) {
  return std::to_string(n).append(" ").append(n == 1 ? one : several);
}

// "1 call", "2 calls"
inline std::string count_of(uint64_t n, std::string_view thing) { return count_of(n, thing, std::string(thing) + "s"); }

}  // namespace prof_text

#endif
