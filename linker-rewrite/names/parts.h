// What a demangled name consists of:
//
//     int   ns::  Class<T>::  method<int>  (long, char const*)  const [clone .cold]
//     type  the path                       parameters           rest
//
// Demanglers write the return type of templates only. Names of C have nothing but a path of one part. All this is found
// by the brackets in a name, and these have to be found first.

#ifndef NAMES_PARTS_H
#define NAMES_PARTS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace prof_names {

// Which bracket of a demangled name belongs to which.
//
// Names of C++, Rust and D are full of brackets, and < and > are not always some: operator<, operator->, A->x, 1 < 2.
// What demanglers write is more regular than what people write, which is what this depends on:
//
//     operator<  operator()    the longest operator after the word `operator` is no bracket
//     operator<< <int>         before arguments of a template there is a blank then
//     (1)<(2)  ((1)>(2))       operands have parentheses, and so has an expression with >
//     A<(4)>>(1)>              so this >> is a shift; in others two brackets end, as in Rust's names
//     ->                       never a bracket
//     '<'  "<"                 characters in Rust's names, operators in Ada's
class Brackets {
 public:
  // Of `text`, which must outlive the object. None if its brackets do not match, if they are nested deeper than
  // anything that a person would read, or if it is longer than that.
  static std::optional<Brackets> find(std::string_view text);

  // The position of the bracket that closes the one at `at`; 0 if there is none that opens.
  size_t end_of(size_t at) const { return ends_[at]; }

  // Whether `at` is the start of the name of an operator, the word `operator` included; else 0. The position after it.
  size_t end_of_operator(size_t at) const { return operators_[at]; }

  // The positions, from `from` to `to`, of the commas that are in no bracket there.
  std::vector<size_t> commas(size_t from, size_t to) const;

 private:
  explicit Brackets(std::string_view text) : text_(text), ends_(text.size()), operators_(text.size()) {}
  bool match();
  bool is_after_operand(size_t at) const;
  size_t skipped(size_t at) const;
  size_t operator_length(size_t at) const;

  std::string_view text_;
  std::vector<uint32_t> ends_, operators_;
  size_t last_start_ = 0;  // where the bracket opens that was closed last
};

// Whether a character may be a part of an identifier; bytes of UTF-8 are.
constexpr bool is_of_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c < 0;
}

// Stands after the name of an inlined function, and is no list of parameters.
inline constexpr std::string_view kInlined = "(inlined)";

struct Parts {
  std::string_view type;               // what stands before the path, with the blank after it
  std::vector<std::string_view> path;  // with template arguments; at least one
  std::string_view separator;          // between the parts of the path: :: or, in names of D and Ada, a full stop
  std::string_view parameters;         // with the parentheses; or empty
  std::string_view rest;               // qualifiers, clones, a library: " const [clone .cold] (inlined) [libz.so.1]"
};

// Of a name, whose brackets these are; both must outlive the parts.
Parts parts_of(std::string_view name, const Brackets& brackets);

}  // namespace prof_names

#endif
