// prof --latency: how long single calls lasted, of each function that has calls which have ended.
//
// Durations are by the clock, waiting included, and without what the hooks have taken meanwhile, by their cost as it
// was measured when the program began. Where most of a function's time was that of hooks, that cost is not known well
// enough: then the times have the mark ~. What is shorter than a few hooks is not told apart.
//
// If hooks left a function while the program ran, its durations are of the calls that were timed by then, which the
// mark says as well. How many there were in all is told by blocks.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "order.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/modules.h"
#include "prof/read/error.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"
#include "views.h"

namespace prof {

namespace {

using prof_format::kShortestDuration;

struct Row {
  uint32_t function = 0;
  std::string name;
  const CallDurations* durations = nullptr;
  uint64_t calls = 0;  // 0: not known
  bool is_uncertain = false;
};

double part_of(SortKey key) {
  constexpr double kHalf = 0.5, kNine = 0.9, kNinetyNine = 0.99;
  return key == SortKey::p50 ? kHalf : key == SortKey::p90 ? kNine : kNinetyNine;
}

class Latency {
 public:
  explicit Latency(const Analysis& analysis)
      : analysis_(analysis), shortest_(std::max(double(kShortestDuration), kHooks * analysis.probe)) {
    const std::vector<bool> selected = selected_functions(analysis, Modules(analysis));
    for (uint32_t f = 0; f < analysis.durations.size(); ++f) {
      const CallDurations& durations = analysis.durations[f];
      if (!selected[f] || durations.calls() == 0) continue;
      rows_.push_back({f, analysis.functions.name_with_module(analysis.functions.functions()[f]), &durations,
                       calls_of(f), is_uncertain(f)});
    }
  }

  void sort(SortKey key) {
    const std::vector<Function>& functions = analysis_.functions.functions();
    const auto rank = [&](const Row& row) {
      if (key == SortKey::max) return row.durations->greatest();
      if (key == SortKey::calls) return std::max(row.calls, row.durations->calls());
      return row.durations->percentile(part_of(key));
    };
    std::ranges::stable_sort(rows_, [&](const Row& a, const Row& b) {
      if (is_of_durations(key) || key == SortKey::calls) {
        const uint64_t first = rank(a), second = rank(b);
        if (first != second) return first > second;
      }
      const auto ranked = [&](const Row& row) {
        return Ranked{analysis_.sums[row.function], row.name, functions[row.function].address};
      };
      return comes_before(is_of_durations(key) ? SortKey::total : key, ranked(a), ranked(b));
    });
  }

  // Keeps the first so many; returns how many there were more.
  size_t keep(size_t most) {
    const size_t more = rows_.size() - std::min(rows_.size(), most);
    rows_.resize(rows_.size() - more);
    return more;
  }

  size_t rows() const { return rows_.size(); }

  void print(const TableOptions& options, Output& out) const {
    TextColumn calls{"Calls", 3}, timed{"Timed", 6}, least{"Min", 8}, half{"p50", 2}, nine{"p90", 4},
        ninety_nine{"p99", 1}, thousandth{"p99.9", 5}, greatest{"Max", 0};
    std::vector<NamedLine> lines;
    for (const Row& row : rows_) {
      const CallDurations& d = *row.durations;
      calls.cells.push_back(row.calls != 0 ? std::to_string(row.calls) : "-");
      timed.cells.push_back(std::to_string(d.calls()));
      least.cells.push_back(time(row, d.least()));
      half.cells.push_back(time(row, d.percentile(0.5)));
      nine.cells.push_back(time(row, d.percentile(0.9)));
      ninety_nine.cells.push_back(time(row, d.percentile(0.99)));
      thousandth.cells.push_back(time(row, d.percentile(0.999)));
      greatest.cells.push_back(time(row, d.greatest()));
      lines.push_back({prof_text::printable(row.name)});
    }
    std::vector<TextColumn> columns = {std::move(calls),      std::move(timed),   std::move(least),
                                       std::move(half),       std::move(nine),    std::move(ninety_nine),
                                       std::move(thousandth), std::move(greatest)};
    if (!have_left()) columns.erase(columns.begin() + 1);
    if (options.columns && has_utf8_locale()) columns.push_back(bars());
    print_columns(std::move(columns), lines, options.wide ? std::nullopt : options.columns, out);
  }

 private:
  static constexpr double kHooks = 4;      // times the cost of a pair: what is shorter is not told apart
  static constexpr size_t kBarWidth = 16;  // columns

  bool have_left() const { return !analysis_.has_hooks(); }

  uint64_t calls_of(uint32_t function) const {
    return have_left() ? analysis_.sums[function].calls : analysis_.durations[function].calls();
  }

  // Whether the total of a function is not known to a tenth, because of hooks, or calls are missing since these left.
  bool is_uncertain(uint32_t function) const {
    const FunctionSum& sum = analysis_.sums[function];
    constexpr double kTenth = 0.1;
    if (analysis_.durations[function].are_of_first_calls()) return true;
    if (have_left()) return analysis_.hooks_part() > Analysis::kMostOfHooks;
    return (sum.total_range.high - sum.total_range.low) / 2 > kTenth * double(sum.total + sum.total_waiting);
  }

  std::string time(const Row& row, uint64_t cycles) const {
    const std::string mark = row.is_uncertain ? "~" : "";
    if (double(cycles) < shortest_) return mark + "<" + duration(analysis_.seconds(shortest_));
    return mark + duration(analysis_.seconds(cycles));
  }

  // How the calls of each row are distributed, from the shortest to the longest of all rows: each column is as many
  // times as long as the one before, and as high as the logarithm of the calls in it.
  TextColumn bars() const {
    double low = HUGE_VAL, high = shortest_;
    for (const Row& row : rows_) {
      low = std::min(low, std::max(shortest_, double(row.durations->least())));
      high = std::max(high, double(row.durations->greatest()));
    }
    low = std::min(low, high);
    TextColumn column{duration(analysis_.seconds(low)) + ".." + duration(analysis_.seconds(high)), 8};
    for (const Row& row : rows_) column.cells.push_back(bar(*row.durations, low, high));
    return column;
  }

  static std::string bar(const CallDurations& durations, double low, double high) {
    constexpr const char* kHeights[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
    constexpr double kHighest = std::size(kHeights) - 1;
    std::vector<double> calls(kBarWidth);
    const double width = std::max(std::log(high / low), 1e-9);
    for (const CallDurations::Bucket& bucket : durations.buckets()) {
      const double at = std::log(std::max(double(bucket.low + bucket.high) / 2, low) / low) / width;
      calls[std::min(size_t(at * double(kBarWidth)), kBarWidth - 1)] += double(bucket.calls);
    }
    const double most = std::ranges::max(calls);
    std::string text;
    for (const double n : calls)
      text += kHeights[n > 0 ? size_t(std::ceil(kHighest * std::log1p(n) / std::log1p(most))) : 0];
    return text;
  }

  const Analysis& analysis_;
  double shortest_;  // cycles
  std::vector<Row> rows_;
};

std::string why_none(const Analysis& analysis) {
  const std::string name = analysis.profiles.empty() ? analysis.program : analysis.profiles[0];
  if (analysis.limited) return name + ": prof ctl limited what is recorded, and durations are of all of a run";
  if (!analysis.has_hooks() && analysis.hook_cycles > 0) return name + ": no call has ended whose duration is known";
  if (!analysis.has_hooks() || !analysis.timed() || analysis.estimated())
    return name +
           ": has no durations of calls; prof run --latency takes them, with --type time also where code cannot be "
           "changed";
  if (analysis.thread != 0)
    return "no call has ended, or durations are those of several threads together: look at them without -t";
  return name + ": no call has ended whose duration is known, or an older libprof wrote it";
}

}  // namespace

void print_latency(const Analysis& analysis, const TableOptions& options, SortKey order, Output& out) {
  if (analysis.durations.empty()) {
    if (analysis.process == 0) throw Error(why_none(analysis));
    return out.text(why_none(analysis) + "\n");
  }
  Latency latency(analysis);
  latency.sort(order);
  const size_t all = latency.rows();
  const bool has_limit = options.all || options.most_rows;
  const size_t more = latency.keep(options.most_rows               ? *options.most_rows
                                   : options.columns && !has_limit ? options.rows_of_terminal
                                                                   : all);
  if (options.has_header)
    for (const std::string& line : table_header(analysis, more, all, "functions"))
      out.text(wrapped(line, options.columns));
  latency.print(options, out);
  if (more == 0) return;
  std::string line = has_utf8_locale() ? "\u2026 " : "... ";
  line += std::to_string(more) + (more == 1 ? " more function" : " more functions");
  if (!options.most_rows) line += "; --all shows them";
  out.text(wrapped(line, options.columns));
}

}  // namespace prof
