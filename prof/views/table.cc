#include "table.h"

#include <algorithm>

#include "libprof/printable.h"
#include "names.h"
#include "order.h"
#include "shares.h"
#include "table_columns.h"
#include "table_header.h"
#include "text_columns.h"

namespace prof {

namespace {

constexpr size_t kRowsOnTerminal = 25;

// Takes away the rows that the options leave out, and returns what they are together.
struct LeftOut {
  size_t rows = 0;
  FunctionSum sum;
};

LeftOut leave_out(std::vector<TableRow>& rows, const Shares& shares, const TableOptions& options) {
  const bool has_limit = options.all || options.most_rows || options.least_percent > 0;
  const size_t most = options.most_rows               ? *options.most_rows
                      : options.columns && !has_limit ? kRowsOnTerminal
                                                      : rows.size();
  LeftOut left_out;
  std::vector<TableRow> kept;
  for (TableRow& row : rows) {
    if (kept.size() < most && 100 * shares.of(row.sum).likely >= options.least_percent) {
      kept.push_back(std::move(row));
      continue;
    }
    ++left_out.rows;
    add_self(left_out.sum, row.sum);
  }
  rows = std::move(kept);
  return left_out;
}

// "... 1625 more functions, 3.1 % of the time; --all shows them".
std::string last_line(const Analysis& analysis, const LeftOut& left_out, const Shares& shares,
                      const std::string& things, const TableOptions& options) {
  std::string line = has_utf8_locale() ? "\u2026 " : "... ";
  line += std::to_string(left_out.rows) + " more " + things.substr(0, things.size() - (left_out.rows == 1 ? 1 : 0));
  line += ", " + shares.of(left_out.sum).text();
  line += analysis.timed ? " % of the time" : " % of the calls";
  if (!options.most_rows && options.least_percent <= 0) line += "; --all shows them";
  return wrapped(line, options.columns);
}

// The column that the rows are sorted by is the last to go, where a terminal has no room for all.
bool is_of_order(const std::string& title, SortKey order) {
  switch (order) {
    case SortKey::self:
      return title == "Self" || title == "Elapsed";
    case SortKey::total:
      return title == "Total";
    case SortKey::calls:
      return title == "Calls";
    case SortKey::per_call:
      return title == "Per-call";
    case SortKey::name:
      break;
  }
  return false;
}

void print_rows(const std::vector<Column>& columns, const std::vector<TableRow>& rows, const TableOptions& options,
                Output& out) {
  std::vector<TextColumn> texts;
  for (const Column& column : columns) {
    TextColumn& text = texts.emplace_back(TextColumn{column.title, column.rank});
    if (is_of_order(column.title, options.order)) text.rank = std::min(text.rank, 1);
    for (const TableRow& row : rows) text.cells.push_back(column.text(row));
  }
  std::vector<NamedLine> lines;
  for (const TableRow& row : rows) lines.push_back({prof_text::printable(row.name), row.below});
  print_columns(std::move(texts), lines, options.wide ? std::nullopt : options.columns, out);
}

}  // namespace

void print_table(const Analysis& analysis, std::vector<TableRow> rows, const TableForm& form,
                 const TableOptions& options, Output& out) {
  Shares shares(analysis);
  if (analysis.whole) {
    shares.add(*analysis.whole);
  } else {
    for (const TableRow& row : rows) shares.add(row.sum);
  }
  std::erase_if(rows, [](const TableRow& row) { return !row.is_selected; });
  std::sort(rows.begin(), rows.end(), [&](const TableRow& a, const TableRow& b) {
    return comes_before(options.order, {a.sum, a.name, a.address}, {b.sum, b.name, b.address});
  });
  const LeftOut left_out = leave_out(rows, shares, options);

  const std::string things = form.has_functions ? "modules" : "functions";
  if (options.has_header)
    out.text(table_header(analysis, left_out.rows, rows.size() + left_out.rows, things, options.columns));
  std::vector<Column> columns = {{"%", 0, [&](const TableRow& row) { return shares.of(row.sum).text(); }}};
  for (Column& column : table_columns(analysis, form)) columns.push_back(std::move(column));
  print_rows(columns, rows, options, out);
  if (left_out.rows > 0) out.text(last_line(analysis, left_out, shares, things, options));
}

}  // namespace prof
