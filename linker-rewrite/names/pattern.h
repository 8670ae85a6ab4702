// Which functions a pattern means: sort, std::sort, 'std::sort<*>', 'ns::Class::*', 'f(int)', _ZN2ns1fEi; and
// what one that matches nothing may have meant.
//
// A pattern is one of the shell's, as of fnmatch(3), and is compared with as much of a name as it speaks of. What
// belongs to a name is its path, of which the first parts may be missing; and of the rest,
//
//     parameters          if the pattern has a parenthesis
//     template arguments  if it has a <, of all parts of the path or of all but the last
//     the return type     if it has a blank
//
// So `*string*` means functions with a string in their own names, not all that take or return one. A pattern may be
// taken from what prof shows, as it is: it also matches what it is equal to. Names are compared as demanglers write
// them and as demangle.h does, and as they are in tables of symbols.

#ifndef NAMES_PATTERN_H
#define NAMES_PATTERN_H

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "demangle.h"

namespace prof_names {

// A form of a name, of which any part of the path may be the first.
struct PathForm {
  std::string text;            // path, parameters, rest
  std::vector<size_t> starts;  // of the parts of the path
  size_t path_end, parameters_end, qualifiers_end;
};

// The name of a function, for patterns to be compared with.
class Name {
 public:
  // As it is in a table of symbols, of a file with functions in these languages.
  explicit Name(std::string symbol, Languages languages = {});

  const std::string& symbol() const { return symbol_; }
  const std::string& whole() const { return whole_; }            // demangled
  const std::string& simplified() const { return simplified_; }  // may be the same

  // The path without template arguments and parameters, std::vector::push_back; and the last part of it.
  std::string_view path() const;
  std::string_view last_part() const;

  // With all template arguments, or with those of all parts but the last; and with none.
  const std::vector<PathForm>& with_arguments() const { return with_arguments_; }
  const std::vector<PathForm>& without_arguments() const { return without_arguments_; }

 private:
  void add_forms(const std::string& text);

  std::string symbol_, whole_, simplified_;
  std::vector<PathForm> with_arguments_, without_arguments_;
};

class Pattern {
 public:
  explicit Pattern(const std::string& glob);

  const std::string& glob() const { return glob_; }
  bool matches(const Name& name) const;

 private:
  bool matches_text(std::string_view text) const;
  bool matches_form(const PathForm& form) const;

  std::string glob_, normal_;  // normal_: with >> for > >
  size_t plain_length_;        // of normal_, how much stands before the first character that means others
  bool has_parenthesis_, has_arguments_, has_blank_;
};

// Functions that match one of some patterns, or all if there are none of these, but that match none of some others.
class Filter {
 public:
  Filter() = default;
  Filter(const std::vector<std::string>& only, const std::vector<std::string>& except);

  bool is_empty() const { return only_.empty() && except_.empty(); }

  // Whether a function is meant that has these names, at least one.
  bool selects(std::span<const Name> names) const;

  const std::vector<Pattern>& only() const { return only_; }
  const std::vector<Pattern>& except() const { return except_; }

 private:
  std::vector<Pattern> only_, except_;
};

// What a pattern that matches nothing, or a word that is none of a few, may have meant: "did you mean".
class Nearest {
 public:
  // To what the pattern says of the last part of a name.
  explicit Nearest(const Pattern& pattern);
  // To a word.
  explicit Nearest(std::string_view word);

  void add(const Name& name);
  // `shown`: how the question has it.
  void add(std::string_view word, std::string_view shown);

  // "did you mean sort, qsort or std::sort?"; "" if nothing is near.
  std::string question() const;

 private:
  std::string wanted_;
  std::set<std::pair<size_t, std::string>> found_;  // the nearest, each with its distance
};

}  // namespace prof_names

#endif
