// prof diff --latency: how long single calls lasted before and after, of functions that both sides have.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "difference.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"

namespace prof {

namespace {

using Sort = DifferenceOptions::Sort;

struct Row {
  const ComparedFunction* function = nullptr;
  Change p50, p99, greatest;
};

std::string times(const ComparedFunction& f, const Change& change) {
  const auto text = [&](double seconds, size_t side) {
    const double shortest = f.durations[side].shortest;
    return seconds < shortest ? "<" + duration(shortest) : duration(seconds);
  };
  return marked(change, text(change.first, 0) + "->" + text(change.second, 1));
}

double order_of(const Row& row, Sort sort) {
  const Change& change = sort == Sort::p50 ? row.p50 : sort == Sort::max ? row.greatest : row.p99;
  return std::abs(change.amount());
}

}  // namespace

void print_latency_difference(const Difference& d, const DifferenceOptions& options, Output& out) {
  std::vector<Row> rows;
  for (const ComparedFunction& f : d.functions)
    if (f.durations[0].calls != 0 && f.durations[1].calls != 0)
      rows.push_back({&f, Difference::p50(f), Difference::p99(f), Difference::greatest(f)});
  if (rows.empty()) throw Error("no function has durations of calls on both sides; prof run --latency takes them");
  std::ranges::sort(rows, [&](const Row& a, const Row& b) {
    const double first = order_of(a, options.sort), second = order_of(b, options.sort);
    return options.sort == Sort::name || first == second ? a.function->name < b.function->name : first > second;
  });
  const size_t most = options.rows                      ? *options.rows
                      : options.columns && !options.all ? options.rows_of_terminal
                                                        : rows.size();
  const size_t left_out = rows.size() - std::min(rows.size(), most);
  rows.resize(rows.size() - left_out);

  TextColumn calls{"Timed", 5}, p50{"p50", 2}, p50_change{"%", 3}, p99{"p99", 0}, p99_change{"%", 1},
      greatest{"Max", 4};
  std::vector<NamedLine> lines;
  for (const Row& row : rows) {
    const auto& [a, b] = row.function->durations;
    calls.cells.push_back(a.calls == b.calls ? std::to_string(a.calls)
                                             : std::to_string(a.calls) + "->" + std::to_string(b.calls));
    p50.cells.push_back(times(*row.function, row.p50));
    p50_change.cells.push_back(percent_text(row.p50));
    p99.cells.push_back(times(*row.function, row.p99));
    p99_change.cells.push_back(percent_text(row.p99));
    greatest.cells.push_back(times(*row.function, row.greatest));
    lines.push_back({name_text(*row.function)});
  }
  for (const char* letter : {"A", "B"}) out.text(wrapped(line_of(letter, d.sides[*letter == 'B']), options.columns));
  print_columns({std::move(calls), std::move(p50), std::move(p50_change), std::move(p99), std::move(p99_change),
                 std::move(greatest)},
                lines, options.wide ? std::nullopt : options.columns, out);
  if (left_out == 0) return;
  std::string line = has_utf8_locale() ? "\u2026 " : "... ";
  line += prof_text::count_of(left_out, "more function");
  if (!options.rows) line += "; --all shows them";
  out.text(wrapped(line, options.columns));
}

}  // namespace prof
