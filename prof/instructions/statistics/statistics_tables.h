// The statistics of a trace as tables, which all of prof istat's outputs are made of.

#ifndef PROF_INSTRUCTIONS_STATISTICS_STATISTICS_TABLES_H
#define PROF_INSTRUCTIONS_STATISTICS_STATISTICS_TABLES_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "memory_statistics.h"
#include "prof/instructions/trace/trace_names.h"
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

}  // namespace prof

#endif
