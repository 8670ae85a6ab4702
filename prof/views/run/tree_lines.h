// The lines of a tree of calls, one by one: for what prints them all, and for what shows some of them.
//
// A line is of one context, or of a chain of contexts of which each did little but call the next one.

#ifndef PROF_VIEWS_RUN_TREE_LINES_H
#define PROF_VIEWS_RUN_TREE_LINES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "order.h"
#include "prof/model/analysis/analysis.h"
#include "prof/views/text/indentation.h"

namespace prof {

// What a tree is, beside its analysis: that of all calls, or one that was made of it (model/tree/contexts.h).
struct ShownTree {
  const Tree& tree;
  const Tree* processor;  // of two runs, the same nodes with times on a processor; else null
  bool is_of_callers;     // from functions up to who called them
};
ShownTree tree_of(const Analysis& analysis);

// By function, printable.
std::vector<std::string> names_of_functions(const FunctionTable& table);

class TreeLines {
 public:
  // `key`: what siblings are sorted by; none: the order of first calls, where that is known. `columns`: of the
  // terminal. All of these must outlive this.
  TreeLines(const Analysis& analysis, const ShownTree& shown, const std::vector<std::string>& names,
            std::optional<SortKey> key, std::optional<size_t> columns);

  // The nodes below another one, in their order.
  void list_children(uint32_t parent, std::vector<uint32_t>& children) const;

  // "visit:12.5/1000", as deep as the level says; of the chain from `first` down to `last`. Without a newline.
  std::string line(uint32_t first, uint32_t last, uint32_t level);

  // What stands below a call of a function within itself, for all that is not shown there.
  std::string cut_off(uint32_t level);

 private:
  // What stands after a name; and what goes with it where there is room.
  struct Figures {
    std::string time_and_calls, others;
  };

  bool comes_before(uint32_t a, uint32_t b) const;
  std::string names_from(uint32_t first, uint32_t last, std::optional<size_t> columns) const;
  Figures figures_of(uint32_t i) const;

  const Analysis& analysis_;
  const ShownTree shown_;
  const std::vector<CallNode>& nodes_;
  const std::vector<std::string>& names_;
  const std::optional<SortKey> key_;
  const std::optional<size_t> columns_;
  Indentation indents_;
};

}  // namespace prof

#endif
