// Lines as printf makes them, for tables whose layout is that of another program.

#ifndef PROF_GPROF_TEXT_H
#define PROF_GPROF_TEXT_H

#include <algorithm>
#include <cstdio>
#include <string>

namespace prof::gprof {

// For numbers and short words. Names, which may be long, are put behind.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[1024];
  const int length = std::snprintf(text, sizeof text, format, values...);
  return std::string(text, length < 0 ? 0 : std::min(size_t(length), sizeof text - 1));
}

}  // namespace prof::gprof

#endif
