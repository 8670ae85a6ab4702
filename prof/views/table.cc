#include "table.h"

#include <algorithm>
#include <functional>

#include "libprof/printable.h"
#include "numbers.h"

namespace prof {

namespace {

// As printf's %*s and the like: at least `width` wide, flushed right.
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// The table's columns between the percentage and the calls: times, each with its title.
struct Column {
  const char* title;
  std::function<std::string(const TableRow&)> text;
};

Range self_range(const FunctionSum& sum) { return with_chance(sum.self_range, sum.self_variance); }

std::vector<Column> sampled_columns(const Analysis& analysis, bool has_totals) {
  const SampledTimes& sampled = *analysis.sampled;
  auto error = [&sampled](const TableRow& row) {
    const SampleRange range = range_of(row.samples, sampled.weight);
    return decimal(sampled.seconds((range.high - range.low) / 2), 3);
  };
  auto total = [&analysis](const TableRow& row) {
    return row.has_calls ? decimal(analysis.seconds(row.sum.total), 3) : "-";
  };
  std::vector<Column> columns = {
      {"Self", [&](const TableRow& row) { return decimal(analysis.seconds(row.sum.self), 3); }}, {"+/-", error}};
  if (has_totals) columns.push_back({"Total", total});
  return columns;
}

std::vector<Column> time_columns(const Analysis& analysis, bool has_totals) {
  if (analysis.sampled) return sampled_columns(analysis, has_totals);
  auto self = [&](const TableRow& row) {
    return shown_time(analysis, row.sum.self, self_range(row.sum), 1, row.sum.has_doubtful_self);
  };
  if (analysis.cpu) {
    auto on_processor = [&](const TableRow& row) {
      const FunctionSum& other = row.on_processor;
      return shown_time(analysis, other.self, self_range(other), 1, other.has_doubtful_self);
    };
    auto waiting = [&](const TableRow& row) {
      const FunctionSum &sum = row.sum, &other = row.on_processor;
      return shown_waiting(analysis, sum.self, other.self, self_range(sum), self_range(other), 1,
                           sum.has_doubtful_self || other.has_doubtful_self);
    };
    return {{"Elapsed", self}, {"CPU", on_processor}, {"Waiting", waiting}};
  }
  if (analysis.has_waiting) {
    auto waiting = [&](const TableRow& row) {
      return shown_time(analysis, row.sum.self_waiting, {}, 1, row.sum.has_doubtful_self);
    };
    return {{"Self", self}, {"Waiting", waiting}};
  }
  if (analysis.by_samples && analysis.timed) return {{"Self", self}};
  // The title stands where Plan 9 has it.
  if (!analysis.timed) return {{"Time ", [](const TableRow&) { return "-"; }}};
  return {{"Time ", self}};
}

void sort_by_time(std::vector<TableRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const TableRow& a, const TableRow& b) {
    if (a.sum.self != b.sum.self) return a.sum.self > b.sum.self;
    if (a.sum.self_waiting != b.sum.self_waiting) return a.sum.self_waiting > b.sum.self_waiting;
    if (a.sum.calls != b.sum.calls) return a.sum.calls > b.sum.calls;
    if (a.name != b.name) return a.name < b.name;
    return a.address < b.address;
  });
}

}  // namespace

void print_table(const Analysis& analysis, std::vector<TableRow> rows, const TableForm& form, Output& out) {
  auto part = [&](const TableRow& row) { return double(analysis.timed ? row.sum.self : row.sum.calls); };
  double whole = 0;  // what 100 % are
  for (const TableRow& row : rows) whole += part(row);
  std::erase_if(rows, [](const TableRow& row) { return !row.is_selected; });
  sort_by_time(rows);

  const std::string run = analysis.timed && !analysis.sampled ? analysis.run_times.line() : "";
  if (!run.empty()) out.text(run + "\n");
  auto percentage = [&](const TableRow& row) {
    const bool is_range =
        analysis.timed && !analysis.sampled && is_shown_as_range(analysis, row.sum.self, self_range(row.sum), 1);
    return (is_range ? "~" : "") + decimal(whole > 0 ? 100 * part(row) / whole : 0, 1);
  };
  std::vector<std::vector<std::string>> columns;  // of texts, each with its title
  for (const Column& column : time_columns(analysis, form.has_totals)) {
    std::vector<std::string>& texts = columns.emplace_back(1, column.title);
    for (const TableRow& row : rows) texts.push_back(column.text(row));
  }
  size_t share_width = 4;
  for (const TableRow& row : rows) share_width = std::max(share_width, percentage(row).size());
  std::vector<size_t> widths;
  for (const auto& texts : columns) {
    widths.push_back(8);
    for (const std::string& text : texts) widths.back() = std::max(widths.back(), text.size());
  }
  for (size_t line = 0; line <= rows.size(); ++line) {
    out.text(right(line == 0 ? "% " : percentage(rows[line - 1]), share_width));
    for (size_t c = 0; c < columns.size(); ++c) out.text(" " + right(columns[c][line], widths[c]));
    if (line == 0) {
      out.text(std::string("    Calls") + (form.has_functions ? " Functions" : "") + "  Name\n");
      continue;
    }
    const TableRow& row = rows[line - 1];
    out.text(" " + right(row.has_calls ? shown_calls(row.sum.calls, row.sum.has_doubtful_calls) : "-", 8));
    if (form.has_functions) out.text(" " + right(std::to_string(row.functions), 9));
    out.text("\t" + prof_text::printable(row.name) + "\n");
  }
}

}  // namespace prof
