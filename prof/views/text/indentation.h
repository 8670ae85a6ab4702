// How deep a line of a tree stands.

#ifndef PROF_VIEWS_TEXT_INDENTATION_H
#define PROF_VIEWS_TEXT_INDENTATION_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prof {

class Indentation {
 public:
  // Takes the tab stop from Plan 9's environment variable for editors and printers of trees, $tabstop. `columns`: those
  // of the terminal that is printed on, if it is one; without the variable, its own tab stops are used then.
  explicit Indentation(std::optional<size_t> columns = {});

  // Two columns for each level: a dot and a tab for every full tab stop, a dot and spaces for the rest. Very deep
  // levels are written as numbers.
  std::string at(uint32_t level);

  // The same in `room` columns of a terminal: as deep as there is room for, and the level as a number.
  std::string at(uint32_t level, size_t room);

  // How many columns `at` takes on a terminal; and the same in `room` columns, which a very deep level takes more of
  // than there are.
  size_t columns_at(uint32_t level) const;
  size_t columns_at(uint32_t level, size_t room) const;

 private:
  // The deepest level that there is room for.
  uint32_t deepest_in(uint32_t level, size_t room) const;

  const uint32_t deepest_;  // level that is not written as a number
  const int tab_;
  std::vector<std::string> known_;  // by level
};

}  // namespace prof

#endif
