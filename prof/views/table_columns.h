// Which columns a table has, by what was measured: their titles and their texts.

#ifndef PROF_VIEWS_TABLE_COLUMNS_H
#define PROF_VIEWS_TABLE_COLUMNS_H

#include <functional>
#include <string>
#include <vector>

#include "table.h"

namespace prof {

struct Column {
  std::string title;
  int rank;  // TextColumn::rank in text_columns.h
  std::function<std::string(const TableRow&)> text;
};

// Those between the percentage and the name. They refer to the analysis.
std::vector<Column> table_columns(const Analysis& analysis, const TableForm& form);

}  // namespace prof

#endif
