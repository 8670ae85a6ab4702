// The statistics of a trace, printed.

#ifndef PROF_INSTRUCTIONS_STATISTICS_STATISTICS_VIEWS_H
#define PROF_INSTRUCTIONS_STATISTICS_STATISTICS_VIEWS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/views/text/output.h"
#include "statistics_tables.h"

namespace prof {

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
