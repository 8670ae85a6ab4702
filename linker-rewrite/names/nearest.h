// What a pattern that matches nothing, or a word that is none of a few, may have meant: "did you mean".

#ifndef NAMES_NEAREST_H
#define NAMES_NEAREST_H

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "pattern.h"

namespace prof_names {

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
