#include "table_columns.h"

#include "durations.h"
#include "numbers.h"

namespace prof {

namespace {

Range self_range(const FunctionSum& sum) { return with_chance(sum.self_range, sum.self_variance); }
Range total_range(const FunctionSum& sum) { return with_chance(sum.total_range, sum.total_variance); }

std::vector<Column> columns_of_samples(const Analysis& analysis) {
  const SampledTimes& sampled = *analysis.sampled;
  auto self = [&](const TableRow& row) { return duration(analysis.seconds(row.sum.self)); };
  auto error = [&](const TableRow& row) {
    const SampleRange range = range_of(row.samples, sampled.weight);
    return duration(sampled.seconds((range.high - range.low) / 2));
  };
  return {{"Self", 2, self}, {"+/-", 5, error}};
}

// An elapsed time, that on a processor in another run, and what is left of the first without the second.
std::vector<Column> columns_of_two_runs(const Analysis& analysis) {
  auto elapsed = [&](const TableRow& row) {
    return shown_time(analysis, double(row.sum.self), self_range(row.sum), row.sum.has_doubtful_self);
  };
  auto on_processor = [&](const TableRow& row) {
    const FunctionSum& other = row.on_processor;
    return shown_time(analysis, double(other.self), self_range(other), other.has_doubtful_self);
  };
  auto waiting = [&](const TableRow& row) {
    const FunctionSum &sum = row.sum, &other = row.on_processor;
    return shown_waiting(analysis, sum.self, other.self, self_range(sum), self_range(other),
                         sum.has_doubtful_self || other.has_doubtful_self);
  };
  return {{"Elapsed", 2, elapsed}, {"CPU", 3, on_processor}, {"Waiting", 5, waiting}};
}

std::vector<Column> columns_of_self_times(const Analysis& analysis) {
  if (!analysis.timed) return {};
  if (analysis.sampled) return columns_of_samples(analysis);
  if (analysis.cpu) return columns_of_two_runs(analysis);
  auto self = [&](const TableRow& row) {
    return shown_time(analysis, double(row.sum.self), self_range(row.sum), row.sum.has_doubtful_self);
  };
  auto waiting = [&](const TableRow& row) {
    return shown_time(analysis, double(row.sum.self_waiting), {}, row.sum.has_doubtful_self);
  };
  std::vector<Column> columns = {{"Self", 2, self}};
  if (analysis.has_waiting) columns.push_back({"Waiting", 6, waiting});
  return columns;
}

// The total time, or a part of it: divided by `parts`.
std::string shown_total(const Analysis& analysis, const FunctionSum& sum, double parts) {
  const double cycles = double(sum.total) / parts;
  if (analysis.sampled) return duration(analysis.seconds(1) * cycles);
  const Range range = total_range(sum);
  return shown_time(analysis, cycles, {range.low / parts, range.high / parts}, sum.has_doubtful_total);
}

}  // namespace

std::vector<Column> table_columns(const Analysis& analysis, const TableForm& form) {
  std::vector<Column> columns = columns_of_self_times(analysis);
  const bool has_totals = form.has_totals && analysis.timed;
  auto total = [&](const TableRow& row) {
    return (row.has_calls && analysis.has_hooks) || analysis.is_gmon ? shown_total(analysis, row.sum, 1) : "-";
  };
  auto calls = [](const TableRow& row) {
    return row.has_calls ? shown_calls(row.sum.calls, row.sum.has_doubtful_calls) : "-";
  };
  auto per_call = [&](const TableRow& row) {
    const bool is_known = row.has_calls && row.sum.calls != 0 && !row.sum.has_doubtful_calls;
    return is_known ? shown_total(analysis, row.sum, double(row.sum.calls)) : "-";
  };
  if (has_totals) columns.push_back({"Total", 5, total});
  columns.push_back({"Calls", 4, calls});
  if (has_totals) columns.push_back({"Per-call", 7, per_call});
  if (form.has_functions) {
    columns.push_back({"Functions", 8, [](const TableRow& row) { return std::to_string(row.functions); }});
  }
  return columns;
}

}  // namespace prof
