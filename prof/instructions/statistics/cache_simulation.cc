#include "cache_simulation.h"

#include <algorithm>
#include <bit>

namespace prof {

namespace {

constexpr uint64_t kLargestCache = uint64_t(1) << 32;  // bytes

}  // namespace

const char* problem_of(const CacheShape& shape) {
  if (!std::has_single_bit(shape.line) || shape.line < 16) return "a line has a power of two of bytes, 16 or more";
  if (shape.ways == 0 || shape.size == 0 || shape.size > kLargestCache || shape.size % shape.line != 0 ||
      shape.size / shape.line % shape.ways != 0)
    return "the size is no multiple of the ways times the line";
  if (!std::has_single_bit(shape.size / shape.line / shape.ways)) return "the sets are no power of two";
  return "";
}

Cache::Cache(const CacheShape& shape)
    : line_bits_(unsigned(std::countr_zero(shape.line))),
      sets_(shape.size / shape.line / shape.ways),
      ways_(shape.ways),
      lines_(size_t(sets_ * ways_)) {}

bool Cache::touch_line(uint64_t line) {
  const auto first = lines_.begin() + std::ptrdiff_t(line % sets_ * ways_);
  const auto end = first + std::ptrdiff_t(ways_);
  if (*first == line + 1) return true;
  const auto at = std::find(first, end, line + 1);
  const bool is_there = at != end;
  std::rotate(first, is_there ? at : end - 1, is_there ? at + 1 : end);
  *first = line + 1;
  return is_there;
}

bool Cache::touch(uint64_t address, uint64_t size) {
  const uint64_t first = address >> line_bits_;
  const uint64_t last = (address + (size ? size - 1 : 0)) >> line_bits_;
  bool are_there = true;
  for (uint64_t line = first; line <= last; ++line) are_there &= touch_line(line);
  return are_there;
}

}  // namespace prof
