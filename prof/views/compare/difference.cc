// The table of what changed. Each column is a title and a text for each function; the last line is the sum.

#include "difference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "change_text.h"
#include "libprof/printable.h"
#include "prof/model/program/count_of.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

// What is known of a function, or of all functions together.
struct Row {
  std::string name;
  const ComparedFunction* function = nullptr;  // null: it is the sum
  const std::array<Figures, 2>* figures = nullptr;
  double order = 0;  // rows with more come first
};

struct Column {
  const char* title;
  int rank;  // TextColumn::rank in text_columns.h
  std::function<std::string(const Row&)> text;
};

// "new" and "gone" stand where others have the part of the time that they gained or lost.
std::string part_text(const Row& row, const Change& change) {
  if (row.function && !row.function->occurs[0]) return "new";
  if (row.function && !row.function->occurs[1]) return "gone";
  return percent_text(change);
}

std::string p_text(const Change& change) {
  if (!change.p) return "";
  return *change.p < 0.001 ? "<.001" : decimal(*change.p, 3);
}

bool has_calls(const Row& row) { return !row.function || row.function->has_calls; }

std::string calls_text(const Difference& d, const Row& row) {
  if (!has_calls(row)) return "-";
  const Change calls = d.calls(*row.figures);
  if (calls.amount() == 0) return count_text(calls.first);
  return marked(calls, count_text(calls.first) + "->" + count_text(calls.second));
}

// Without times all there is to compare is calls.
std::vector<Column> columns_of_counts(const Difference& d) {
  auto change = [&d](const Row& row) {
    const Change calls = d.calls(*row.figures);
    const std::string size = count_text(std::abs(calls.amount()));
    return marked(calls, (calls.amount() < 0 ? "-" : calls.amount() > 0 ? "+" : "") + size);
  };
  return {{"Change", 0, change},
          {"%", 2, [&d](const Row& row) { return part_text(row, d.calls(*row.figures)); }},
          {"Calls", 3, [&d](const Row& row) { return calls_text(d, row); }}};
}

std::vector<Column> columns_of(const Difference& d, bool has_waiting) {
  if (!d.timed) return columns_of_counts(d);
  auto self = [&d](const Row& row) { return d.self(*row.figures); };
  std::vector<Column> columns = {{"Change", 0, [=](const Row& row) { return duration_change(self(row)); }},
                                 {"%", 2, [=](const Row& row) { return part_text(row, self(row)); }}};
  if (d.is_tested()) columns.push_back({"p", 3, [=](const Row& row) { return p_text(self(row)); }});
  columns.push_back({"Self A", 5, [=](const Row& row) { return duration(self(row).first); }});
  columns.push_back({"Self B", 6, [=](const Row& row) { return duration(self(row).second); }});
  if (has_waiting) {
    columns.push_back({"Waiting", 8, [&d](const Row& row) { return duration_change(d.self_waiting(*row.figures)); }});
  }
  columns.push_back({"Total", 7, [&d](const Row& row) -> std::string {
                       if (!row.function) return "";
                       return duration_change(d.total(*row.figures));
                     }});
  columns.push_back({"Calls", 4, [&d](const Row& row) { return calls_text(d, row); }});
  columns.push_back({"Per call", 9, [&d](const Row& row) -> std::string {
                       if (!row.function || !has_calls(row)) return "";
                       if (!row.function->occurs[0] || !row.function->occurs[1]) return "";
                       return duration_change(d.per_call(*row.figures));
                     }});
  return columns;
}

// By what the rows are sorted: the size of a change.
double order_of(const Difference& d, const std::array<Figures, 2>& figures, DifferenceOptions::Sort sort) {
  switch (sort) {
    case DifferenceOptions::Sort::self:
      return std::abs((d.timed ? d.self(figures) : d.calls(figures)).amount());
    case DifferenceOptions::Sort::total:
      return std::abs(d.total(figures).amount());
    case DifferenceOptions::Sort::calls:
      return std::abs(d.calls(figures).amount());
    case DifferenceOptions::Sort::per_call:
      return std::abs(d.per_call(figures).amount());
    case DifferenceOptions::Sort::name:
      break;
  }
  return 0;
}

std::vector<Row> rows_of(const Difference& d, const DifferenceOptions& options) {
  std::vector<Row> rows;
  for (const ComparedFunction& f : d.functions) {
    if (!f.occurs[0] && !f.occurs[1]) continue;
    rows.push_back({name_text(f), &f, &f.sides, order_of(d, f.sides, options.sort)});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.order != b.order) return a.order > b.order;
    return a.name != b.name ? a.name < b.name : a.function < b.function;
  });
  return rows;
}

void print_side(const char* letter, const ComparedSide& side, const DifferenceOptions& options, Output& out) {
  std::string line = std::string(letter) + ": " + prof_text::printable(side.program);
  if (side.runs != 1) line += ", mean of " + std::to_string(side.runs) + " runs";
  if (side.processor && side.elapsed > 0) {
    line += ": on a processor " + duration(*side.processor) + " of " + duration(side.elapsed);
  } else if (side.elapsed > 0) {
    line += ": " + duration(side.elapsed);
  }
  out.text(wrapped(line, options.columns));
}

// The column that the rows are sorted by is the last to go, where a terminal has no room for all.
const char* column_of(DifferenceOptions::Sort sort) {
  switch (sort) {
    case DifferenceOptions::Sort::total:
      return "Total";
    case DifferenceOptions::Sort::calls:
      return "Calls";
    case DifferenceOptions::Sort::per_call:
      return "Per call";
    case DifferenceOptions::Sort::self:
    case DifferenceOptions::Sort::name:
      break;
  }
  return "Change";
}

size_t most_rows(const DifferenceOptions& options) {
  constexpr size_t kRowsOnTerminal = 25;
  if (options.rows) return *options.rows;
  return options.columns && !options.all ? kRowsOnTerminal : SIZE_MAX;
}

}  // namespace

void print_difference(const Difference& d, const DifferenceOptions& options, Output& out) {
  print_side("A", d.sides[0], options, out);
  print_side("B", d.sides[1], options, out);
  std::vector<Row> rows = rows_of(d, options);
  const size_t shown = std::min(rows.size(), most_rows(options)), left_out = rows.size() - shown;
  rows.resize(shown);
  rows.push_back({"all functions", nullptr, &d.all});

  const bool has_waiting = d.has_waiting && d.timed && std::ranges::any_of(d.all, [&](const Figures& side) {
                             return side.self_waiting.mean(1) >= 1e-6;
                           });
  std::vector<TextColumn> texts;
  for (const Column& column : columns_of(d, has_waiting)) {
    TextColumn& text = texts.emplace_back(TextColumn{column.title, column.rank});
    if (text.title == column_of(options.sort)) text.rank = std::min(text.rank, 1);
    for (const Row& row : rows) text.cells.push_back(column.text(row));
  }
  std::vector<NamedLine> lines;
  for (const Row& row : rows) lines.push_back({row.name, {}, row.function != nullptr});
  print_columns(std::move(texts), lines, options.wide ? std::nullopt : options.columns, out);
  if (left_out == 0) return;
  std::string line = has_utf8_locale() ? "\u2026 " : "... ";
  line += count_of(left_out, "more function");
  if (!options.rows) line += "; --all shows them";
  out.text(wrapped(line, options.columns));
}

}  // namespace prof
