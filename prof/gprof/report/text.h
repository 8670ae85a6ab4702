// Lines as printf makes them, for tables whose layout is that of another program.

#ifndef PROF_GPROF_REPORT_TEXT_H
#define PROF_GPROF_REPORT_TEXT_H

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace prof::gprof {

// For numbers and short words. Names, which may be long, are put after.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[1024];
  const int length = std::snprintf(text, sizeof text, format, values...);
  return std::string(text, length < 0 ? 0 : std::min(size_t(length), sizeof text - 1));
}

// A line of a table that may have millions of them: as printf would make it, in a third of the time.
class FastLine {
 public:
  FastLine& text(std::string_view s) {
    line_ += s;
    return *this;
  }
  FastLine& blanks(size_t columns) {
    line_.append(columns, ' ');
    return *this;
  }
  // %WIDTHlu and %-WIDTHlu
  FastLine& right(uint64_t number, size_t width) {
    char digits[24];
    return right({digits, std::to_chars(digits, digits + sizeof digits, number).ptr}, width);
  }
  FastLine& left(uint64_t number, size_t width) {
    const size_t start = line_.size();
    char digits[24];
    line_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return blanks(width - std::min(width, line_.size() - start));
  }
  // %WIDTH.2f
  FastLine& right(double number, size_t width) {
    char digits[330];  // of the greatest number, with its point and places
    return right({digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, 2).ptr},
                 width);
  }

  // The line so far; the next one begins.
  const std::string& take() {
    taken_.swap(line_);
    line_.clear();
    return taken_;
  }

 private:
  FastLine& right(std::string_view digits, size_t width) {
    return blanks(width - std::min(width, digits.size())).text(digits);
  }

  std::string line_, taken_;
};

}  // namespace prof::gprof

#endif
