// The arguments of options, from text to values. All throw UsageError for a text that is none: what is wrong, and what
// to write.

#ifndef OPTIONS_VALUES_H
#define OPTIONS_VALUES_H

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"

namespace prof_options {

// "--sort: invalid key 'x'; write self or total"
[[noreturn]] void refuse(const Given& given, const std::string& what, const std::string& right);

// Bytes, or units of 1024, 1024^2 and 1024^3 of them with the letters K, M and G.
uint64_t size_of(const Given& given, const std::string& text);
uint64_t size_of(const Given& given);

// The argument of an option that needs a name, as "FILE".
std::string name_of(const Given& given, const char* what);

// "a, b or c"
std::string listed(const std::vector<std::string>& words, const char* last = "or");

// All of a text as a number; `right` says in an error which one is wanted.
template <class Number>
Number number_of(const Given& given, const std::string& text, Number least, Number most, const char* right) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= least) || !(number <= most))
    refuse({given.option, text}, "number", right);
  return number;
}
template <class Number>
Number number_of(const Given& given, Number least, Number most, const char* right) {
  return number_of(given, given.argument, least, most, right);
}

// The value of one of some words. `what`: what they are, "key".
template <class Value>
Value one_of(const Given& given, const char* what, const std::vector<std::pair<const char*, Value>>& values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) {
    if (given.argument == word) return value;
    words.emplace_back(word);
  }
  refuse(given, what, listed(words));
}

}  // namespace prof_options

#endif
