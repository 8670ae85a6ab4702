// A table with times: of functions, or of modules.

#ifndef PROF_VIEWS_RUN_TABLE_H
#define PROF_VIEWS_RUN_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"
#include "prof/views/text/text_columns.h"
#include "views.h"

namespace prof {

struct TableRow {
  std::string name;
  FunctionSum sum;
  FunctionSum on_processor = {};         // of the other run, if there are two
  uint64_t samples = 0;                  // if times are those of samples
  bool has_calls = true;                 // false: a dash in their place
  bool is_selected = true;               // false: a part of the whole, which is not printed
  uint32_t functions = 0;                // how many the row is of, in the table of modules
  std::vector<TextWithName> below = {};  // lines below it
  uint64_t address = 0;                  // of rows that are alike otherwise, the lesser comes first
};

struct TableForm {
  bool has_totals = true;  // columns with total times and with the time per call
  bool has_functions = false;
};

// The header; the titles; the rows, in the order that the options say; how many more there are. Percentages are of all
// rows.
void print_table(const Analysis& analysis, std::vector<TableRow> rows, const TableForm& form,
                 const TableOptions& options, Output& out);

}  // namespace prof

#endif
