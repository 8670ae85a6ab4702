#include "tree_pane.h"

#include <algorithm>
#include <unordered_map>

#include "prof/model/tree/contexts.h"
#include "prof/views/text/names.h"

namespace prof::tui {

namespace {

constexpr size_t kMark = 2;     // columns of + or - and a blank
constexpr double kMuch = 0.05;  // of the time of all: what is unfolded at first
constexpr size_t kMinColumns = 20;

// What decides how much a context matters: its time, or its calls where no times are known.
double weight_of(const Analysis& analysis, const CallNode& node) {
  return analysis.timed() ? double(node.total) + double(node.total_waiting) : double(node.calls);
}

}  // namespace

void TreePane::add(Part part) {
  part.is_open.resize(part.shown.tree.nodes.size());
  parts_.push_back(std::make_unique<Part>(std::move(part)));
}

// Adds the tree that `make` makes of a tree, and the same of the other run, if there are two.
template <class Make>
void TreePane::add_made(const std::string& title, bool is_of_callers, const Make& make) {
  auto made = std::make_unique<Made>();
  made->tree = make(look_.analysis.tree);
  if (look_.analysis.cpu) made->processor = make(look_.analysis.cpu->tree);
  const ShownTree shown = {made->tree, made->processor ? &*made->processor : nullptr, is_of_callers};
  add({title, std::move(made), shown, {}, {}});
}

std::unique_ptr<TreePane> TreePane::of_all(const Look& look) {
  std::unique_ptr<TreePane> pane(new TreePane(look));
  pane->add({"", nullptr, tree_of(look.analysis), {}, {}});
  pane->open_what_matters(*pane->parts_[0]);
  pane->begin();
  return pane;
}

std::unique_ptr<TreePane> TreePane::through(const Look& look, uint32_t function) {
  FunctionSet functions(look.names.size());
  functions[function] = true;
  std::unique_ptr<TreePane> pane(new TreePane(look));
  pane->heading_ = "only through ";
  pane->made_for_ = function;
  pane->add_made("", false, [&](const Tree& tree) { return focus_on(tree, functions); });
  pane->open_what_matters(*pane->parts_[0]);
  pane->begin();
  return pane;
}

std::unique_ptr<TreePane> TreePane::around(const Look& look, uint32_t function) {
  FunctionSet functions(look.names.size());
  functions[function] = true;
  std::unique_ptr<TreePane> pane(new TreePane(look));
  pane->made_for_ = function;
  pane->add_made("its callers:", true, [&](const Tree& tree) { return callers_of(tree, functions).tree; });
  pane->add_made("what it calls:", false, [&](const Tree& tree) { return callees_of(tree, functions); });
  // The function itself is at the top of each.
  for (const std::unique_ptr<Part>& part : pane->parts_)
    if (const uint32_t top = part->shown.tree.nodes[0].first_child) part->is_open[top] = true;
  pane->begin();
  return pane;
}

void TreePane::open_what_matters(Part& part) const {
  const std::vector<CallNode>& nodes = part.shown.tree.nodes;
  double most = 0;
  for (uint32_t c = nodes[0].first_child; c != 0; c = nodes[c].next_sibling)
    most += weight_of(look_.analysis, nodes[c]);
  for (uint32_t i = 1; i < nodes.size(); ++i)
    if (most > 0 && weight_of(look_.analysis, nodes[i]) >= kMuch * most) part.is_open[nodes[i].parent] = true;
}

void TreePane::begin() {
  keys_ = {SortKey::total, SortKey::self, SortKey::calls, SortKey::per_call, SortKey::name, std::nullopt};
  make_lines();
  make_rows();
}

void TreePane::make_lines() {
  const size_t columns = std::max(columns_, kMinColumns) - kMark;
  for (const std::unique_ptr<Part>& part : parts_)
    part->lines.emplace(look_.analysis, part->shown, look_.names, key_, columns);
}

// Appends the rows of what is below a node; with what is folded, or without.
void TreePane::append_rows(uint32_t part, uint32_t node, uint32_t level, bool with_folded, std::vector<Row>& rows) {
  const Part& of = *parts_[part];
  std::vector<Row> steps;  // the next one last
  std::vector<uint32_t> children;
  const auto push_children = [&](uint32_t parent, uint32_t at) {
    of.lines->list_children(parent, children);
    for (size_t i = children.size(); i-- > 0;) steps.push_back({part, children[i], at});
  };
  push_children(node, level);
  while (!steps.empty()) {
    const Row row = steps.back();
    steps.pop_back();
    rows.push_back(row);
    if (with_folded || of.is_open[row.node]) push_children(row.node, row.level + 1);
  }
}

void TreePane::make_rows() {
  rows_.clear();
  for (uint32_t part = 0; part < parts_.size(); ++part) {
    if (!parts_[part]->title.empty()) rows_.push_back({part, 0, 0});
    append_rows(part, 0, 0, false, rows_);
  }
}

void TreePane::set_columns(size_t columns) {
  if (columns == columns_) return;
  columns_ = columns;
  make_lines();
}

std::vector<std::string> TreePane::heading() const {
  if (!made_for_ && rows_.empty()) return {"of who called whom nothing is known here"};
  if (!made_for_) return {};
  return {heading_ + fitted(look_.names[*made_for_], columns_ - std::min(columns_, heading_.size()))};
}

std::string TreePane::row(size_t at) {
  const Row& row = rows_[at];
  Part& part = *parts_[row.part];
  if (row.node == 0) return part.shown.tree.nodes.size() > 1 ? part.title : part.title + " nothing is known";
  const char* mark = !has_children(row) ? "  " : is_open(row) ? "- " : "+ ";
  return mark + without_tabs(part.lines->line(row.node, row.node, row.level));
}

std::optional<uint32_t> TreePane::function_at(size_t at) const {
  if (at >= rows_.size() || rows_[at].node == 0) return {};
  return nodes_of(rows_[at])[rows_[at].node].function;
}

std::string TreePane::state() const {
  const std::string order = key_ ? std::string("by ") + name_of(*key_) : "by first call";
  return heading_.empty() ? order : order + "; F: all contexts";
}

bool TreePane::take(const Key& key) {
  if (key.is("s") || key.is("S")) {
    const size_t at = size_t(std::ranges::find(keys_, key_) - keys_.begin()), count = keys_.size();
    sort(keys_[(at + (key.is("s") ? 1 : count - 1)) % count]);
    return true;
  }
  if (cursor() >= rows_.size()) return false;
  const Row row = rows_[cursor()];
  if (key.is(Key::Name::right) || key.is("l") || key.is("+")) {
    if (has_children(row) && !is_open(row))
      unfold(cursor());
    else if (has_children(row) && !key.is("+"))
      move(1);
    return true;
  }
  if (key.is("-")) {
    if (has_children(row)) fold(cursor());
    return true;
  }
  if (key.is(Key::Name::left) || key.is("h")) {
    fold_or_go_out(cursor());
    return true;
  }
  if (key.is(" ")) {
    if (has_children(row)) is_open(row) ? fold(cursor()) : unfold(cursor());
    return true;
  }
  if (key.is("*")) {
    if (has_children(row)) unfold_all(cursor());
    return true;
  }
  return false;
}

void TreePane::unfold(size_t at) {
  const Row row = rows_[at];
  parts_[row.part]->is_open[row.node] = true;
  std::vector<Row> below;
  append_rows(row.part, row.node, row.level + 1, false, below);
  rows_.insert(rows_.begin() + ptrdiff_t(at) + 1, below.begin(), below.end());
}

void TreePane::unfold_all(size_t at) {
  const Row row = rows_[at];
  if (is_open(row)) fold(at);
  std::vector<Row> below;
  append_rows(row.part, row.node, row.level + 1, true, below);
  std::vector<bool>& open = parts_[row.part]->is_open;
  open[row.node] = true;
  for (const Row& one : below) open[one.node] = true;
  rows_.insert(rows_.begin() + ptrdiff_t(at) + 1, below.begin(), below.end());
}

void TreePane::fold(size_t at) {
  const Row row = rows_[at];
  if (!is_open(row)) return;
  parts_[row.part]->is_open[row.node] = false;
  size_t end = at + 1;
  while (end < rows_.size() && rows_[end].part == row.part && rows_[end].level > row.level) ++end;
  rows_.erase(rows_.begin() + ptrdiff_t(at) + 1, rows_.begin() + ptrdiff_t(end));
}

// Folds what is unfolded; from what is not, goes to the line that it is below of.
void TreePane::fold_or_go_out(size_t at) {
  const Row& row = rows_[at];
  if (has_children(row) && is_open(row)) return fold(at);
  if (row.node == 0 || row.level == 0) return;
  go_to({row.part, nodes_of(row)[row.node].parent, row.level - 1});
}

void TreePane::go_to(const Row& row) {
  const auto at = std::ranges::find(rows_, row);
  if (at != rows_.end()) set_cursor(size_t(at - rows_.begin()));
}

void TreePane::go_to(uint32_t function) {
  for (size_t at = 0; at < rows_.size(); ++at)
    if (function_at(at) == function) return set_cursor(at);
}

void TreePane::sort(std::optional<SortKey> key) {
  const std::optional<Row> row = cursor() < rows_.size() ? std::optional(rows_[cursor()]) : std::nullopt;
  key_ = key;
  whole_.clear();
  make_lines();
  make_rows();
  if (row) go_to(*row);
}

// Unfolds all that a line is below of, and puts the cursor there.
void TreePane::reveal(const Row& row) {
  const std::vector<CallNode>& nodes = nodes_of(row);
  std::vector<bool>& open = parts_[row.part]->is_open;
  bool is_shown = true;
  for (uint32_t i = nodes[row.node].parent; i != 0; i = nodes[i].parent) {
    is_shown = is_shown && open[i];
    open[i] = true;
  }
  if (!is_shown) make_rows();
  go_to(row);
}

bool TreePane::find(const Query& query, bool forwards) {
  if (rows_.empty()) return false;
  if (whole_.empty()) {
    for (uint32_t part = 0; part < parts_.size(); ++part) {
      if (!parts_[part]->title.empty()) whole_.push_back({part, 0, 0});
      append_rows(part, 0, 0, true, whole_);
    }
  }
  std::vector<bool> is_found;  // by function
  for (const std::string& name : look_.names) is_found.push_back(query.find_in(name).has_value());
  const size_t count = whole_.size(), from = size_t(std::ranges::find(whole_, rows_[cursor()]) - whole_.begin());
  for (size_t step = 1; step <= count; ++step) {
    const Row& row = whole_[(from + (forwards ? step : count - step)) % count];
    if (row.node == 0 || !is_found[nodes_of(row)[row.node].function]) continue;
    reveal(row);
    return true;
  }
  return false;
}

void TreePane::resume(const TreePane& other, const std::vector<uint32_t>& same) {
  const Row* const old_row = other.cursor() < other.rows_.size() ? &other.rows_[other.cursor()] : nullptr;
  std::optional<uint32_t> node;  // that the cursor was on
  for (size_t p = 0; p < std::min(parts_.size(), other.parts_.size()); ++p) {
    const Part& before = *other.parts_[p];
    Part& now = *parts_[p];
    const std::vector<CallNode>&old = before.shown.tree.nodes, &nodes = now.shown.tree.nodes;
    // What is folded, with nothing unfolded below it, is as good as new.
    std::vector<bool> matters = before.is_open;
    for (size_t i = old.size(); i-- > 1;)
      if (matters[i]) matters[old[i].parent] = true;
    matters[0] = true;
    std::vector<uint32_t> place(old.size());  // among the nodes now; 0: it is not there
    std::unordered_map<uint32_t, uint32_t> children;
    for (uint32_t i = 0; i < old.size(); ++i) {
      if (!matters[i] || (i != 0 && place[i] == 0)) continue;
      children.clear();
      for (uint32_t c = nodes[place[i]].first_child; c != 0; c = nodes[c].next_sibling) children[nodes[c].function] = c;
      for (uint32_t c = old[i].first_child; c != 0; c = old[c].next_sibling) {
        const auto at = children.find(same[old[c].function]);
        if (at == children.end()) continue;
        place[c] = at->second;
        now.is_open[at->second] = before.is_open[c];
      }
    }
    if (old_row && old_row->part == p) node = place[old_row->node];
  }
  key_ = other.key_;
  columns_ = other.columns_;
  make_lines();
  make_rows();
  stand_as(other);
  if (old_row && node && (*node != 0 || old_row->node == 0)) go_to({old_row->part, *node, old_row->level});
}

}  // namespace prof::tui
