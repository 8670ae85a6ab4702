#include "table_pane.h"

#include <algorithm>

namespace prof::tui {

TablePane::TablePane(const Look& look) : look_(look) {
  sort(SortKey::self);
  for (const FlatTable::Column& column : table_.columns)
    if (column.key) keys_.push_back(*column.key);
  keys_.push_back(SortKey::name);
  // A table without times is in the order of its calls anyway.
  if (!std::ranges::count(keys_, key_)) sort(keys_.front());
}

void TablePane::sort(SortKey key) {
  key_ = key;
  table_ = flat_table(look_.analysis, key);
  lay_out();
  show();
}

void TablePane::lay_out() {
  std::vector<TextColumn> texts;
  for (const FlatTable::Column& column : table_.columns) texts.push_back(column.texts);
  lines_.emplace(std::move(texts), false, columns_);
}

void TablePane::show() {
  shown_.clear();
  for (size_t row = 0; row < table_.functions.size(); ++row)
    if (filter_.is_empty() || filter_.find_in(look_.names[table_.functions[row]])) shown_.push_back(row);
}

void TablePane::go_to(std::optional<uint32_t> function) {
  const auto is_it = [&](size_t row) { return function == table_.functions[row]; };
  const auto at = std::ranges::find_if(shown_, is_it);
  set_cursor(at == shown_.end() ? 0 : size_t(at - shown_.begin()));
}

void TablePane::set_columns(size_t columns) {
  if (columns == columns_) return;
  columns_ = columns;
  lay_out();
}

std::vector<std::string> TablePane::heading() const {
  std::vector<std::string> lines;
  for (const std::string& line : table_.header)
    for (std::string& part : broken(line, columns_)) lines.push_back(std::move(part));
  lines.push_back(without_tabs(lines_->titles()));
  return lines;
}

std::string TablePane::row(size_t at) {
  return without_tabs(lines_->at(shown_[at], {look_.names[table_.functions[shown_[at]]]}));
}

std::optional<uint32_t> TablePane::function_at(size_t at) const {
  if (at >= shown_.size()) return {};
  return table_.functions[shown_[at]];
}

std::string TablePane::state() const {
  std::string text = std::string("by ") + name_of(key_);
  if (!filter_.is_empty()) text += ", with \"" + filter_.text() + "\"; Esc: all";
  return text;
}

bool TablePane::take(const Key& key) {
  const bool is_next = key.is("s");
  if (is_next || key.is("S")) {
    const std::optional<uint32_t> function = function_at(cursor());
    const size_t at = size_t(std::ranges::find(keys_, key_) - keys_.begin()), count = keys_.size();
    sort(keys_[(at + (is_next ? 1 : count - 1)) % count]);
    go_to(function);
    return true;
  }
  if (key.is(Key::Name::escape) && !filter_.is_empty()) {
    set_filter(Query());
    return true;
  }
  return false;
}

bool TablePane::find(const Query& query, bool forwards) {
  const size_t count = rows();
  for (size_t step = 1; step <= count; ++step) {
    const size_t at = (cursor() + (forwards ? step : count - step)) % count;
    if (!query.find_in(look_.names[*function_at(at)])) continue;
    set_cursor(at);
    return true;
  }
  return false;
}

void TablePane::set_filter(const Query& filter) {
  const std::optional<uint32_t> function = function_at(cursor());
  filter_ = filter;
  show();
  go_to(function);
}

void TablePane::resume(const TablePane& other, const std::vector<uint32_t>& same) {
  columns_ = other.columns_;
  filter_ = other.filter_;
  sort(std::ranges::count(keys_, other.key_) ? other.key_ : key_);
  stand_as(other);
  const std::optional<uint32_t> function = other.function_at(other.cursor());
  if (function && same[*function] != kNoFunction) go_to(same[*function]);
}

}  // namespace prof::tui
