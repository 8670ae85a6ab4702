// A table with times: of functions, or of modules.

#ifndef PROF_VIEWS_TABLE_H
#define PROF_VIEWS_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

#include "output.h"
#include "prof/model/analysis.h"

namespace prof {

struct TableRow {
  std::string name;
  FunctionSum sum;
  FunctionSum on_processor = {};  // of the other run, if there are two
  uint64_t samples = 0;           // if times are those of samples
  bool has_calls = true;          // false: a dash in their place
  bool is_selected = true;        // false: a part of the whole, which is not printed
  uint32_t functions = 0;         // how many the row is of, in the table of modules
  uint64_t address = 0;           // of rows that are alike otherwise, the lesser comes first
};

struct TableForm {
  bool has_totals = true;  // a column with total times, where there is one
  bool has_functions = false;
};

// The line that says how long the program ran; the titles; the rows, that with the most self time first. Percentages are
// of all rows.
void print_table(const Analysis& analysis, std::vector<TableRow> rows, const TableForm& form, Output& out);

}  // namespace prof

#endif
