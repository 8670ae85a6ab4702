// The table of functions, and that of modules. Which columns there are depends on what was measured; which of them are
// printed, on the terminal. Rows are made of the sums of functions, sorted, and cut off where the options say; above
// them stand lines about the run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "order.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/modules.h"
#include "prof/read/file.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/output.h"
#include "prof/views/text/text_columns.h"
#include "views.h"

namespace prof {

namespace {

// A row of a table with times, of functions or of modules.
struct TableRow {
  std::string name;
  FunctionSum sum;
  FunctionSum on_processor = {};         // of the other run, if there are two
  uint64_t samples = 0;                  // if times are those of samples
  bool has_calls = true;                 // false: a dash in their place
  bool has_total = true;                 // the same
  bool is_selected = true;               // false: a part of the whole, which is not printed
  uint32_t functions = 0;                // how many the row is of, in the table of modules
  std::vector<TextWithName> below = {};  // lines below it
  uint64_t address = 0;                  // of rows that are alike otherwise, the lesser comes first
  uint32_t function = 0;                 // index of the function, in the table of these
};

struct TableForm {
  bool has_totals = true;  // columns with total times and with the time per call
  bool has_functions = false;
};

// Which columns a table has, by what was measured: their titles and their texts.

struct Column {
  std::string title;
  int rank;  // TextColumn::rank in text_columns.h
  std::function<std::string(const TableRow&)> text;
  std::optional<SortKey> key = {};  // what rows are sorted by when they are sorted by this column
};

Range self_range(const FunctionSum& sum) { return with_chance(sum.self_range, sum.self_variance); }
Range total_range(const FunctionSum& sum) { return with_chance(sum.total_range, sum.total_variance); }

std::vector<Column> columns_of_samples(const Analysis& analysis) {
  const SampledTimes& sampled = *analysis.sampled;
  auto self = [&](const TableRow& row) { return duration(analysis.seconds(row.sum.self)); };
  auto error = [&](const TableRow& row) {
    const SampleRange chance = sampled.chance(row.samples);
    const Range counters = row.sum.self_range;
    return duration(sampled.seconds((chance.high - chance.low) / 2) +
                    analysis.seconds((counters.high - counters.low) / 2));
  };
  return {{"Self", 2, self, SortKey::self}, {"+/-", 5, error}};
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
  return {{"Elapsed", 2, elapsed, SortKey::self}, {"CPU", 3, on_processor}, {"Waiting", 5, waiting}};
}

std::vector<Column> columns_of_self_times(const Analysis& analysis) {
  if (!analysis.timed()) return {};
  if (analysis.from_outside()) return columns_of_samples(analysis);
  if (analysis.by_two_runs()) return columns_of_two_runs(analysis);
  auto self = [&](const TableRow& row) {
    return shown_time(analysis, double(row.sum.self), self_range(row.sum), row.sum.has_doubtful_self);
  };
  auto waiting = [&](const TableRow& row) {
    return shown_time(analysis, double(row.sum.self_waiting), {}, row.sum.has_doubtful_self);
  };
  std::vector<Column> columns = {{"Self", 2, self, SortKey::self}};
  if (analysis.has_waiting()) columns.push_back({"Waiting", 6, waiting});
  return columns;
}

// The total time, or a part of it: divided by `parts`.
std::string shown_total(const Analysis& analysis, const FunctionSum& sum, double parts) {
  const double cycles = double(sum.total) / parts;
  const Range range = total_range(sum);
  return shown_time(analysis, cycles, {range.low / parts, range.high / parts}, sum.has_doubtful_total);
}

// Those between the percentage and the name. They refer to the analysis.
std::vector<Column> table_columns(const Analysis& analysis, const TableForm& form) {
  std::vector<Column> columns = columns_of_self_times(analysis);
  const bool has_totals = form.has_totals && analysis.timed();
  auto total = [&](const TableRow& row) { return row.has_total ? shown_total(analysis, row.sum, 1) : "-"; };
  auto calls = [](const TableRow& row) { return row.has_calls ? shown_calls(row.sum) : "-"; };
  auto per_call = [&](const TableRow& row) {
    const bool is_known = row.has_calls && row.sum.calls != 0 && !row.sum.has_doubtful_calls;
    return is_known ? shown_total(analysis, row.sum, double(row.sum.calls)) : "-";
  };
  if (has_totals) columns.push_back({"Total", 5, total, SortKey::total});
  columns.push_back({"Calls", 4, calls, SortKey::calls});
  if (has_totals) columns.push_back({"Per-call", 7, per_call, SortKey::per_call});
  if (form.has_functions) {
    columns.push_back({"Functions", 8, [](const TableRow& row) { return std::to_string(row.functions); }});
  }
  return columns;
}

// The lines above a table, three at most: which program, which profiles and of what type; how long it ran; and what is
// not shown.

void append(std::string& line, const std::string& part) { line += (line.empty() ? "" : ", ") + part; }

// "collatz, prof.1234, PROFTYPE=time". Of a part that is shown apart the line above says whose it is.
std::string subject_line(const Analysis& analysis) {
  if (analysis.process != 0) return "";
  std::string line = prof_text::printable(base_name(analysis.program));
  const std::vector<std::string>& profiles = analysis.profiles;
  if (profiles.size() == 1) append(line, prof_text::printable(profiles[0]));
  if (profiles.size() > 1) append(line, std::to_string(profiles.size()) + " profiles");
  if (analysis.is_gmon() && analysis.by_samples())
    append(line, "a sample every " + duration(double(analysis.sample_period) / 1e9));
  if (analysis.hook_cycles > 0)
    append(line, analysis.has_times ? "times from samples" : "no times");
  else
    append(line, analysis.has_hooks() || analysis.has_times ? analysis.properties().heading : "no hooks, no times");
  const size_t runs = analysis.run_times.runs();
  if (runs > 1) append(line, std::to_string(runs) + " runs added up");
  return line;
}

// "elapsed 1.28s, on a processor 1.26s, 4 threads, preempted 108 times".
std::string time_line(const Analysis& analysis) {
  const RunTimes& run = analysis.run_times;
  std::string line;
  if (analysis.sampled) {
    append(line, "in user code " + duration(double(analysis.sampled->user_time) / 1e9));
  } else if (run.elapsed > 0) {
    append(line, "elapsed " + duration(run.elapsed));
    const bool has_one = run.processes <= 1 && run.threads <= 1;
    if (run.processor) append(line, (has_one ? "on a processor " : "on processors ") + duration(*run.processor));
  }
  if (run.processes > 1) append(line, std::to_string(run.processes) + " processes");
  if (run.threads > 1) append(line, prof_text::count_of(run.threads, "thread"));
  if (!analysis.from_outside() && run.processor && run.preempted && analysis.has_waiting())
    append(line, "preempted " + prof_text::count_of(*run.preempted, "time"));
  return line;
}

// "97 % of the code of chromium". Of more than two modules only how many they are.
std::string code_without_hooks(const Analysis& analysis) {
  const std::vector<ModuleCoverage> modules = low_coverages(analysis);
  if (modules.size() > 2) return "much of the code of " + prof_text::count_of(modules.size(), "module");
  std::string text;
  for (const ModuleCoverage& m : modules) {
    const uint64_t hooked = m.code.hooked * 100 / m.could_have_hooks();  // rounded down
    text += (text.empty() ? "" : " and ") + (hooked == 0 ? "nearly all" : std::to_string(100 - hooked) + " %") +
            " of the code of " + prof_text::printable(m.module);
  }
  return text.empty() ? "" : text + ", which has no hooks";
}

std::string missing_line(const Analysis& analysis, size_t left_out, size_t rows, const std::string& things) {
  std::string line;
  if (left_out > 0) append(line, std::to_string(left_out) + " of " + std::to_string(rows) + " " + things);
  std::string patterns;
  for (const std::string& pattern : analysis.module_patterns)
    patterns += (patterns.empty() ? "" : " or ") + prof_text::printable(pattern);
  if (!patterns.empty()) append(line, "modules other than " + patterns);
  if (!analysis.function_filter.is_empty()) append(line, "functions that --function and --not-function leave out");
  if (analysis.contexts.is_any()) append(line, "contexts other than those asked for");
  if (analysis.lost > 0) append(line, prof_text::count_of(analysis.lost, "call") + " that found no room");
  if (const std::string code = code_without_hooks(analysis); !code.empty()) append(line, code);
  if (analysis.limited) append(line, "what was done while recording was off");
  return line.empty() ? "" : "not shown: " + line;
}

}  // namespace

std::vector<std::string> table_header(const Analysis& analysis, size_t left_out, size_t rows,
                                      const std::string& things) {
  std::vector<std::string> lines = {subject_line(analysis), time_line(analysis),
                                    missing_line(analysis, left_out, rows, things)};
  std::erase(lines, "");
  return lines;
}

namespace {

// Takes away the rows that the options leave out, and returns what they are together.
struct LeftOut {
  size_t rows = 0;
  FunctionSum sum;
};

LeftOut leave_out(std::vector<TableRow>& rows, const Shares& shares, const TableOptions& options) {
  const bool has_limit = options.all || options.most_rows || options.least_percent > 0;
  const size_t most = options.most_rows               ? *options.most_rows
                      : options.columns && !has_limit ? options.rows_of_terminal
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
  line += ", " + shares.of(left_out.sum).likely_text();
  line += analysis.timed() ? " % of the time" : " % of the calls";
  if (!options.most_rows && options.least_percent <= 0) line += "; --all shows them";
  return wrapped(line, options.columns);
}

// The texts of a column, a cell for each row. The column that the rows are sorted by is the last to go, where a
// terminal has no room for all.
TextColumn texts_of(const Column& column, const std::vector<TableRow>& rows, SortKey order) {
  TextColumn texts{column.title, column.key == order ? std::min(column.rank, 1) : column.rank};
  for (const TableRow& row : rows) texts.cells.push_back(column.text(row));
  return texts;
}

void print_rows(const std::vector<Column>& columns, const std::vector<TableRow>& rows, const TableOptions& options,
                Output& out) {
  std::vector<TextColumn> texts;
  for (const Column& column : columns) texts.push_back(texts_of(column, rows, options.order));
  std::vector<NamedLine> lines;
  for (const TableRow& row : rows) lines.push_back({prof_text::printable(row.name), row.below});
  print_columns(std::move(texts), lines, options.wide ? std::nullopt : options.columns, out);
}

// What percentages of rows are of: all of these, those that are not selected, too.
Shares shares_of(const Analysis& analysis, const std::vector<TableRow>& rows) {
  Shares shares(analysis);
  if (analysis.contexts.is_any()) {
    shares.add(analysis.contexts.whole);
  } else {
    for (const TableRow& row : rows) shares.add(row.sum);
  }
  return shares;
}

// The rows that are selected, in their order.
void select_and_sort(std::vector<TableRow>& rows, SortKey order) {
  std::erase_if(rows, [](const TableRow& row) { return !row.is_selected; });
  std::sort(rows.begin(), rows.end(), [&](const TableRow& a, const TableRow& b) {
    return comes_before(order, {a.sum, a.name, a.address}, {b.sum, b.name, b.address});
  });
}

// Those before the name. They refer to the analysis and to the shares.
std::vector<Column> all_columns(const Analysis& analysis, const Shares& shares, const TableForm& form) {
  std::vector<Column> columns = {{"%", 0, [&](const TableRow& row) { return shares.of(row.sum).text(); }}};
  for (Column& column : table_columns(analysis, form)) columns.push_back(std::move(column));
  return columns;
}

// The header; the titles; the rows, in the order that the options say; how many more there are. Percentages are of all
// rows. The header's lines are broken where a terminal has so many columns only.
void print_table(const Analysis& analysis, std::vector<TableRow> rows, const TableForm& form,
                 const TableOptions& options, Output& out) {
  const Shares shares = shares_of(analysis, rows);
  select_and_sort(rows, options.order);
  const LeftOut left_out = leave_out(rows, shares, options);

  const std::string things = form.has_functions ? "modules" : "functions";
  if (options.has_header)
    for (const std::string& line : table_header(analysis, left_out.rows, rows.size() + left_out.rows, things))
      out.text(wrapped(line, options.columns));
  print_rows(all_columns(analysis, shares, form), rows, options, out);
  if (left_out.rows > 0) out.text(last_line(analysis, left_out, shares, things, options));
}

// What the table of functions says of inlined ones.

std::string place(const std::string& file, unsigned line) {
  if (file.empty()) return "";
  return base_name(file) + (line ? ":" + std::to_string(line) : "");
}

// What to say before the table, a line without its end; "" if inlined functions were not asked for.
std::string inlined_heading(const Analysis& analysis) {
  if (analysis.sources.empty()) return "";
  return analysis.histogram.empty()
             ? "Below a function: what was inlined into it. Its time is of all together; parts are of its code only."
             : "Below a function: what was inlined into it, and which part of its samples was taken there.";
}

// Lines below that of a function: where it stands in the source, and what was inlined into it. Printable.
std::vector<TextWithName> inlined_lines(const Analysis& analysis, uint32_t function) {
  using prof_text::printable;
  std::vector<TextWithName> lines;
  if (function >= analysis.sources.size()) return lines;
  const FunctionSource& source = analysis.sources[function];
  if (!source.file.empty()) lines.push_back({"  ", "", printable(place(source.file, source.line))});
  for (const InlinedFunction& f : source.inlined) {
    const bool is_of_code = analysis.histogram.empty();
    const uint64_t all = is_of_code ? source.bytes : source.samples;
    std::string share = all ? decimal(100 * double(is_of_code ? f.bytes : f.samples) / double(all), 1) : "-";
    share.insert(0, 5 - std::min<size_t>(5, share.size()), ' ');
    std::string after;
    if (!f.file.empty()) after += "  " + printable(place(f.file, f.line));
    if (f.places > 1) after += ", " + std::to_string(f.places) + " places";
    lines.push_back({"  " + share + " % ", printable(simplified(f.name)), std::move(after)});
  }
  return lines;
}

// A row for each function of which there is anything to tell.
std::vector<TableRow> function_rows(const Analysis& analysis) {
  const std::vector<bool> selected = selected_functions(analysis, Modules(analysis));
  std::vector<TableRow> rows;
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    if (!occurs(analysis, f)) continue;
    const Function& function = analysis.functions.functions()[f];
    TableRow row{analysis.functions.name_with_module(function), analysis.sums[f]};
    if (analysis.cpu) row.on_processor = analysis.cpu->sums[f];
    if (analysis.sampled) row.samples = analysis.sampled->samples[f];
    row.has_calls = analysis.counts_calls_of(f);
    row.has_total = analysis.has_total_of(f);
    row.is_selected = selected[f];
    row.address = function.address;
    row.below = inlined_lines(analysis, f);
    row.function = f;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

void print_flat(const Analysis& analysis, const TableOptions& options, Output& out) {
  const std::string heading = inlined_heading(analysis);
  if (options.has_header && !heading.empty()) out.text(wrapped(heading, options.columns));
  print_table(analysis, function_rows(analysis), {}, options, out);
}

FlatTable flat_table(const Analysis& analysis, SortKey order) {
  std::vector<TableRow> rows = function_rows(analysis);
  const Shares shares = shares_of(analysis, rows);
  select_and_sort(rows, order);
  FlatTable table;
  table.header = table_header(analysis, 0, rows.size(), "functions");
  for (const Column& column : all_columns(analysis, shares, {}))
    table.columns.push_back({texts_of(column, rows, order), column.key});
  for (const TableRow& row : rows) table.functions.push_back(row.function);
  return table;
}

void print_modules(const Analysis& analysis, const TableOptions& options, Output& out) {
  const Modules modules(analysis);
  std::vector<TableRow> rows;
  for (size_t m = 0; m < modules.sums().size(); ++m) {
    const ModuleSum& module = modules.sums()[m];
    if (module.functions == 0) continue;
    TableRow row{analysis.functions.objects()[m].name(), module.sum, module.on_processor, module.samples,
                 module.has_calls};
    row.is_selected = modules.selected()[m];
    row.functions = module.functions;
    rows.push_back(std::move(row));
  }
  print_table(analysis, std::move(rows), {.has_totals = false, .has_functions = true}, options, out);
}

}  // namespace prof
