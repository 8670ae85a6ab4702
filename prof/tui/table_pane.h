// The table of functions, as prof prints it.

#ifndef PROF_TUI_TABLE_PANE_H
#define PROF_TUI_TABLE_PANE_H

#include <optional>
#include <string>
#include <vector>

#include "pane.h"
#include "prof/views/run/views.h"

namespace prof::tui {

class TablePane : public Pane {
 public:
  // The look must outlive this.
  explicit TablePane(const Look& look);

  void set_columns(size_t columns) override;
  std::vector<std::string> heading() const override;
  size_t rows() const override { return shown_.size(); }
  std::string row(size_t at) override;
  size_t figures() const override { return lines_->start_of_names(); }
  std::optional<uint32_t> function_at(size_t at) const override;
  std::string state() const override;
  bool take(const Key& key) override;
  bool find(const Query& query, bool forwards) override;

  // Shows only functions in whose names the query is; all for an empty one. The cursor stays on its function.
  void set_filter(const Query& filter);
  const Query& filter() const { return filter_; }

  // Comes in the place of another table: sorted and filtered alike, with the cursor on the same function.
  void resume(const TablePane& other, const std::vector<uint32_t>& same);

 private:
  void sort(SortKey key);
  void show();
  void go_to(std::optional<uint32_t> function);
  void lay_out();

  const Look& look_;
  std::vector<SortKey> keys_;  // that this table can be sorted by
  SortKey key_ = SortKey::self;
  Query filter_;
  FlatTable table_;
  std::vector<size_t> shown_;  // indexes of rows of the table
  size_t columns_ = 80;
  std::optional<ColumnLines> lines_;
};

}  // namespace prof::tui

#endif
