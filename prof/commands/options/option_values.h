// The arguments of options, from text to values. All throw UsageError, with the option's name, for a text that is none.

#ifndef PROF_COMMANDS_OPTIONS_OPTION_VALUES_H
#define PROF_COMMANDS_OPTIONS_OPTION_VALUES_H

#include <charconv>
#include <cstdint>
#include <string>

#include "linker-rewrite/options/values.h"
#include "message.h"
#include "prof/views/run/order.h"

namespace prof {

// --type: a value of PROFTYPE.
std::string parse_type(const std::string& text);
// Bytes, or units of 1024, 1024^2 and 1024^3 of them with the letters K, M and G.
uint64_t parse_size(const std::string& option, const std::string& text);
// --type: a value of PROFTYPE.
std::string type_of(const prof_options::Given& given);
// --sort
SortKey sort_key_of(const prof_options::Given& given);
// The argument of an option that needs the name of a file.
std::string file_name(const char* option, const std::string& argument);

// All of a text as a number; `what` says in an error which one is wanted.
template <class Number>
Number parse_number(const std::string& option, const std::string& text, Number least, Number most, const char* what) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= least) || !(number <= most))
    throw UsageError(option + " " + text + ": is no " + what);
  return number;
}

}  // namespace prof

#endif
