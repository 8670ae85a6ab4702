// What a pattern that matches nothing may have meant: "did you mean".

#ifndef NAMES_NEAREST_H
#define NAMES_NEAREST_H

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "pattern.h"

namespace prof_names {

class Nearest {
 public:
  // To what the pattern says of the last part of a name.
  explicit Nearest(const Pattern& pattern);

  void add(const Name& name);

  // "did you mean sort, qsort or std::sort?"; "" if nothing is near.
  std::string question() const;

 private:
  std::string wanted_;
  std::set<std::pair<size_t, std::string>> found_;  // the nearest, each with its distance
};

}  // namespace prof_names

#endif
