// The statistics of a trace as tables, which all of prof istat's outputs are made of.

#ifndef PROF_INSTRUCTIONS_STATISTICS_STATISTICS_TABLES_H
#define PROF_INSTRUCTIONS_STATISTICS_STATISTICS_TABLES_H

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "memory_statistics.h"
#include "prof/instructions/trace/trace_names.h"
#include "prof/views/text/output.h"
#include "trace_counts.h"

namespace prof {

struct StatisticsTable {
  struct Column {
    std::string name;   // in JSON and CSV: one word
    std::string title;  // in text; empty: it is not shown there
  };
  using Cell = std::variant<uint64_t, double, std::string>;  // a number; a percentage; a text

  std::string name;             // in JSON and CSV, and of the option --only
  std::string title;            // in text
  std::vector<Column> columns;  // the last one that is shown in text is a name
  std::vector<std::vector<Cell>> rows;
  bool is_sorted_by_use = true;  // the first rows say most: text has some of them only
};

// The names that tables may have, in the order of `statistics_tables`.
const std::vector<std::string>& statistics_table_names();

// Those that there is anything in. `counts` and `memory` are finished. `has_memory`: the trace has accesses to memory.
std::vector<StatisticsTable> statistics_tables(const TraceCounts& counts, const MemoryStatistics& memory,
                                               TraceNames& names, bool has_memory);

// The statistics of a trace, printed.

// What is said of the trace as a whole.
struct TraceSummary {
  uint64_t instructions = 0, loads = 0, stores = 0, threads = 0, system_calls = 0, signals = 0;
  bool has_memory = false;
  std::vector<std::string> command;  // the program and its arguments; empty if it is not known
  const char* origin = "";           // what made it: "gdbserver"
  bool is_partial = false;
  std::string end;  // "exit 3", "signal 9"; empty if it is not known
};

struct StatisticsForm {
  size_t rows = 20;                // of each table that is sorted by use, in text; SIZE_MAX: all
  std::optional<size_t> terminal;  // its columns, if the output is one
};

void print_statistics_text(const TraceSummary& summary, const std::vector<StatisticsTable>& tables,
                           const StatisticsForm& form, Output& out);
void print_statistics_json(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out);
// Each table has a line with the names of its columns, and in each line first the name of the table.
void print_statistics_csv(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out);

}  // namespace prof

#endif
