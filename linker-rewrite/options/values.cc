#include "values.h"

namespace prof_options {

void refuse(const Given& given, const std::string& what, const std::string& right) {
  throw UsageError(given.option + ": invalid " + what + " '" + given.argument + "'; write " + right);
}

uint64_t size_of(const Given& given, const std::string& text) {
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, size);
  const std::string unit(at, end);
  const unsigned shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
  if (error != std::errc() || shift == 64 || size > UINT64_MAX >> shift)
    refuse({given.option, text}, "size", "500K, 20M or 2G");
  return size << shift;
}

uint64_t size_of(const Given& given) { return size_of(given, given.argument); }

std::string name_of(const Given& given, const char* what) {
  if (given.argument.empty())
    throw UsageError(given.option + ": the name is empty; write " + given.option + " " + what);
  return given.argument;
}

std::string listed(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? std::string(" ") + last + " " : ", ") + words[i];
  return text;
}

}  // namespace prof_options
