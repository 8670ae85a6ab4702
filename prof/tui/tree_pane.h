// Trees of calls that are folded and unfolded. A line is that of prof -d, after a mark: + for what can be unfolded, -
// for what can be folded.
//
// Of a million contexts those only have lines that are unfolded. At first these are the ones where much time goes.

#ifndef PROF_TUI_TREE_PANE_H
#define PROF_TUI_TREE_PANE_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pane.h"
#include "prof/views/run/tree_lines.h"

namespace prof::tui {

class TreePane : public Pane {
 public:
  // The look must outlive what these make: the tree of all calls; that of the contexts through a function; and two, one
  // below the other, of who called a function and of what it called.
  static std::unique_ptr<TreePane> of_all(const Look& look);
  static std::unique_ptr<TreePane> through(const Look& look, uint32_t function);
  static std::unique_ptr<TreePane> around(const Look& look, uint32_t function);

  void set_columns(size_t columns) override;
  std::vector<std::string> heading() const override;
  size_t rows() const override { return rows_.size(); }
  std::string row(size_t at) override;
  std::optional<uint32_t> function_at(size_t at) const override;
  std::string state() const override;
  bool take(const Key& key) override;
  // Also finds what is folded, and unfolds it.
  bool find(const Query& query, bool forwards) override;

  // Puts the cursor on the first line of a function, if there is one that is not folded.
  void go_to(uint32_t function);

  // Comes in the place of another one, made in the same way: sorted and unfolded alike, with the cursor at the same
  // context.
  void resume(const TreePane& other, const std::vector<uint32_t>& same);

 private:
  // A tree that was made of that of all calls.
  struct Made {
    Tree tree;
    std::optional<Tree> processor;
  };

  // One of the trees here. Members that others refer to stay where they are.
  struct Part {
    std::string title;  // a line above it; "": none
    std::unique_ptr<Made> made;
    ShownTree shown;
    std::vector<bool> is_open;  // by node
    std::optional<TreeLines> lines;
  };

  struct Row {
    uint32_t part, node, level;  // node 0: the title
    bool operator==(const Row&) const = default;
  };

  explicit TreePane(const Look& look) : look_(look) {}

  template <class Make>
  void add_made(const std::string& title, bool is_of_callers, const Make& make);
  void add(Part part);
  void open_what_matters(Part& part) const;
  void begin();

  void make_lines();
  void make_rows();
  void append_rows(uint32_t part, uint32_t node, uint32_t level, bool with_folded, std::vector<Row>& rows);
  const std::vector<CallNode>& nodes_of(const Row& row) const { return parts_[row.part]->shown.tree.nodes; }
  bool has_children(const Row& row) const { return row.node != 0 && nodes_of(row)[row.node].first_child != 0; }
  bool is_open(const Row& row) const { return parts_[row.part]->is_open[row.node]; }

  void unfold(size_t at);
  void unfold_all(size_t at);
  void fold(size_t at);
  void fold_or_go_out(size_t at);
  void sort(std::optional<SortKey> key);
  void reveal(const Row& row);
  void go_to(const Row& row);

  const Look& look_;
  std::string heading_;  // what stands before the name of the function that these trees are made for
  std::optional<uint32_t> made_for_ = {};
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::optional<SortKey>> keys_;
  std::optional<SortKey> key_ = SortKey::total;
  std::vector<Row> rows_;   // those that have lines
  std::vector<Row> whole_;  // all that could have, in their order; empty until needed
  size_t columns_ = 80;
};

}  // namespace prof::tui

#endif
