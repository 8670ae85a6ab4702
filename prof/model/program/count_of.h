#ifndef PROF_MODEL_PROGRAM_COUNT_OF_H
#define PROF_MODEL_PROGRAM_COUNT_OF_H

#include <cstdint>
#include <string>

namespace prof {

// "1 call", "2 calls"
inline std::string count_of(uint64_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

}  // namespace prof

#endif
