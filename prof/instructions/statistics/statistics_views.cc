#include "statistics_views.h"

#include <algorithm>

#include "libprof/printable.h"
#include "prof/views/text/json_text.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

using Cell = StatisticsTable::Cell;

std::string text_of(const Cell& cell) {
  if (const auto* number = std::get_if<uint64_t>(&cell)) return std::to_string(*number);
  if (const auto* percent = std::get_if<double>(&cell)) return decimal(*percent, 2);
  return prof_text::printable(std::get<std::string>(cell));
}

std::string json_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_text(*text);
  return text_of(cell);
}

std::string csv_of(const Cell& cell) {
  const std::string text = text_of(cell);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

void print_table(const StatisticsTable& table, const StatisticsForm& form, Output& out) {
  const size_t rows = table.is_sorted_by_use ? std::min(form.rows, table.rows.size()) : table.rows.size();
  std::vector<TextColumn> columns;
  std::vector<NamedLine> lines(rows);
  size_t last = 0;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (!table.columns[c].title.empty()) last = c;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].title.empty()) continue;
    if (c == last) {
      for (size_t r = 0; r < rows; ++r) lines[r].name = text_of(table.rows[r][c]);
      continue;
    }
    TextColumn& column = columns.emplace_back(TextColumn{table.columns[c].title});
    for (size_t r = 0; r < rows; ++r) column.cells.push_back(text_of(table.rows[r][c]));
  }
  out.text("\n" + table.title);
  if (rows < table.rows.size())
    out.text(" (" + std::to_string(rows) + " of " + std::to_string(table.rows.size()) + ")");
  out.text("\n");
  print_columns(std::move(columns), lines, form.terminal, out);
}

std::string words_of(const std::vector<std::string>& command) {
  std::string text;
  for (size_t i = 1; i < command.size(); ++i) text += (i > 1 ? " " : "") + command[i];
  if (text.empty() && !command.empty()) text = command[0];
  return prof_text::printable(text);
}

void print_numbers(const TraceSummary& summary, Output& out) {
  const auto count = [](uint64_t n, const char* what) { return std::to_string(n) + what + (n == 1 ? "" : "s"); };
  std::string text = count(summary.threads, " thread");
  if (summary.has_memory) text = count(summary.loads, " load") + ", " + count(summary.stores, " store") + ", " + text;
  if (summary.system_calls) text += ", " + count(summary.system_calls, " system call");
  if (summary.signals) text += ", " + count(summary.signals, " signal");
  if (!summary.end.empty()) text += ", " + summary.end;
  if (summary.is_partial) text += ", partial";
  out.text(text + "\n");
}

}  // namespace

void print_statistics_text(const TraceSummary& summary, const std::vector<StatisticsTable>& tables,
                           const StatisticsForm& form, Output& out) {
  out.text(std::to_string(summary.instructions) + " instructions\n");
  print_numbers(summary, out);
  if (!summary.command.empty()) out.text(words_of(summary.command) + "\n");
  for (const StatisticsTable& table : tables) print_table(table, form, out);
}

void print_statistics_json(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out) {
  out.text("{\"instructions\":" + std::to_string(summary.instructions));
  if (summary.has_memory)
    out.text(",\"loads\":" + std::to_string(summary.loads) + ",\"stores\":" + std::to_string(summary.stores));
  out.text(",\"threads\":" + std::to_string(summary.threads) + ",\"system_calls\":" +
           std::to_string(summary.system_calls) + ",\"signals\":" + std::to_string(summary.signals) +
           ",\"origin\":" + json_text(summary.origin) + ",\"partial\":" + (summary.is_partial ? "true" : "false") +
           ",\"end\":" + json_text(summary.end) + ",\"command\":[");
  for (size_t i = 0; i < summary.command.size(); ++i) out.text((i ? "," : "") + json_text(summary.command[i]));
  out.text("]");
  for (const StatisticsTable& table : tables) {
    out.text(",\n" + in_quotes(table.name) + ":[");
    const char* separator = "\n";
    for (const std::vector<Cell>& row : table.rows) {
      std::string line = separator;
      for (size_t c = 0; c < row.size(); ++c)
        line += (c ? "," : "{") + in_quotes(table.columns[c].name) + ":" + json_of(row[c]);
      out.text(line + "}");
      separator = ",\n";
    }
    out.text("]");
  }
  out.text("}\n");
}

void print_statistics_csv(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out) {
  out.text("table,instructions,loads,stores,threads,partial\ntrace," + std::to_string(summary.instructions) + "," +
           (summary.has_memory ? std::to_string(summary.loads) + "," + std::to_string(summary.stores) : ",") + "," +
           std::to_string(summary.threads) + "," + (summary.is_partial ? "1" : "0") + "\n");
  for (const StatisticsTable& table : tables) {
    std::string titles = "table";
    for (const StatisticsTable::Column& column : table.columns) titles += "," + column.name;
    out.text(titles + "\n");
    for (const std::vector<Cell>& row : table.rows) {
      std::string line = table.name;
      for (const Cell& cell : row) line += "," + csv_of(cell);
      out.text(line + "\n");
    }
  }
}

}  // namespace prof
