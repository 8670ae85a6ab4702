// The table of what changed. Each column is a title and a text for each function; the last line is the sum.

#include "difference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/views/text/indentation.h"
#include "prof/views/text/json_writer.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

// Three digits, or all of a whole number: 1.23, 12.3, 123, 1234.
std::string three_digits(double x) { return decimal(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0); }

std::string with_sign(double x, const std::string& size) { return (x < 0 ? "-" : "+") + size; }

}  // namespace

std::string duration_change(const Change& change) {
  // Of a short run, the rate of the time-stamp counter is known to a millionth (prof/read/clock.h).
  constexpr double kMeasurable = 1e-5;
  const double amount = change.amount(), size = std::abs(amount);
  if (size < kMeasurable * std::max(change.first, change.second)) return "0";
  const std::string text = duration(size);
  return text == "0" ? text : marked(change, with_sign(amount, text));
}

std::string count_text(double calls) { return decimal(calls, calls == std::floor(calls) ? 0 : 1); }

std::string percent_text(const Change& change) {
  if (change.first <= 0) return "";
  const double percent = 100 * change.amount() / change.first;
  const std::string size = three_digits(std::abs(percent)) + "%";
  return size == "0.00%" ? "0%" : with_sign(percent, size);
}

std::string marked(const Change& change, const std::string& text) {
  return (change.is_known || change.amount() == 0 ? "" : "~") + text;
}

std::string name_text(const ComparedFunction& function) {
  return prof_text::printable(function.was.empty() ? function.name : function.name + " (was " + function.was + ")");
}

namespace {

using Sort = DifferenceOptions::Sort;

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
  std::optional<Sort> key = {};  // what rows are sorted by when they are sorted by this column
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
  return {{"Change", 0, change, Sort::self},
          {"%", 2, [&d](const Row& row) { return part_text(row, d.calls(*row.figures)); }},
          {"Calls", 3, [&d](const Row& row) { return calls_text(d, row); }, Sort::calls}};
}

std::vector<Column> columns_of(const Difference& d, bool has_waiting) {
  if (!d.timed) return columns_of_counts(d);
  auto self = [&d](const Row& row) { return d.self(*row.figures); };
  std::vector<Column> columns = {{"Change", 0, [=](const Row& row) { return duration_change(self(row)); }, Sort::self},
                                 {"%", 2, [=](const Row& row) { return part_text(row, self(row)); }}};
  if (d.is_tested()) columns.push_back({"p", 3, [=](const Row& row) { return p_text(self(row)); }});
  columns.push_back({"Self A", 5, [=](const Row& row) { return duration(self(row).first); }});
  columns.push_back({"Self B", 6, [=](const Row& row) { return duration(self(row).second); }});
  if (has_waiting) {
    columns.push_back({"Waiting", 8, [&d](const Row& row) { return duration_change(d.self_waiting(*row.figures)); }});
  }
  columns.push_back({"Total", 7,
                     [&d](const Row& row) -> std::string {
                       if (!row.function) return "";
                       return duration_change(d.total(*row.figures));
                     },
                     Sort::total});
  columns.push_back({"Calls", 4, [&d](const Row& row) { return calls_text(d, row); }, Sort::calls});
  columns.push_back({"Per call", 9,
                     [&d](const Row& row) -> std::string {
                       if (!row.function || !has_calls(row)) return "";
                       if (!row.function->occurs[0] || !row.function->occurs[1]) return "";
                       return duration_change(d.per_call(*row.figures));
                     },
                     Sort::per_call});
  return columns;
}

// By what the rows are sorted: the size of a change.
double order_of(const Difference& d, const std::array<Figures, 2>& figures, Sort sort) {
  switch (sort) {
    case Sort::self:
      return std::abs((d.timed ? d.self(figures) : d.calls(figures)).amount());
    case Sort::total:
      return std::abs(d.total(figures).amount());
    case Sort::calls:
      return std::abs(d.calls(figures).amount());
    case Sort::per_call:
      return std::abs(d.per_call(figures).amount());
    case Sort::name:
    case Sort::p50:
    case Sort::p99:
    case Sort::max:
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

}  // namespace

std::string line_of(const char* letter, const ComparedSide& side) {
  std::string line = std::string(letter) + ": " + prof_text::printable(side.program);
  if (side.runs != 1) line += ", mean of " + std::to_string(side.runs) + " runs";
  if (side.processor && side.elapsed > 0) {
    line += ": on a processor " + duration(*side.processor) + " of " + duration(side.elapsed);
  } else if (side.elapsed > 0) {
    line += ": " + duration(side.elapsed);
  }
  return line;
}

namespace {

size_t most_rows(const DifferenceOptions& options) {
  if (options.rows) return *options.rows;
  return options.columns && !options.all ? options.rows_of_terminal : SIZE_MAX;
}

}  // namespace

DifferenceTable difference_table(const Difference& d, const DifferenceOptions& options) {
  DifferenceTable table;
  table.header = {line_of("A", d.sides[0]), line_of("B", d.sides[1])};
  std::vector<Row> rows = rows_of(d, options);
  const size_t shown = std::min(rows.size(), most_rows(options));
  table.left_out = rows.size() - shown;
  rows.resize(shown);
  for (const Row& row : rows) table.functions.push_back(uint32_t(row.function - d.functions.data()));
  rows.push_back({"all functions", nullptr, &d.all});

  const bool has_waiting = d.has_waiting && d.timed && std::ranges::any_of(d.all, [&](const Figures& side) {
                             return side.self_waiting.mean(1) >= 1e-6;
                           });
  const Sort sorted_by = options.sort == Sort::name ? Sort::self : options.sort;
  for (const Column& column : columns_of(d, has_waiting)) {
    TextColumn& text = table.columns.emplace_back(TextColumn{column.title, column.rank});
    // The column that the rows are sorted by is the last to go, where a terminal has no room for all.
    if (column.key == sorted_by) text.rank = std::min(text.rank, 1);
    for (const Row& row : rows) text.cells.push_back(column.text(row));
  }
  return table;
}

void print_difference(const Difference& d, const DifferenceOptions& options, Output& out) {
  DifferenceTable table = difference_table(d, options);
  for (const std::string& line : table.header) out.text(wrapped(line, options.columns));
  std::vector<NamedLine> lines;
  for (const uint32_t f : table.functions) lines.push_back({name_text(d.functions[f])});
  lines.push_back({"all functions", {}, false});
  print_columns(std::move(table.columns), lines, options.wide ? std::nullopt : options.columns, out);
  if (table.left_out == 0) return;
  std::string line = has_utf8_locale() ? "\u2026 " : "... ";
  line += prof_text::count_of(table.left_out, "more function");
  if (!options.rows) line += "; --all shows them";
  out.text(wrapped(line, options.columns));
}

namespace {

class Writer {
 public:
  Writer(const Difference& d, Output& out) : d_(d), out_(out), json_(out) {}

  void write(const std::string& type) {
    json_.begin_object();
    json_.member("type", type);
    json_.member("test", d_.is_tested() ? "welch" : "ranges");
    write_side("a", d_.sides[0]);
    write_side("b", d_.sides[1]);
    json_.new_line();
    json_.begin_object("all");
    write_changes(d_.all, false, true);
    json_.end_object();
    json_.new_line();
    json_.begin_array("functions");
    write_functions();
    json_.end_array();
    json_.new_line();
    json_.begin_array("tree");
    write_tree();
    json_.end_array();
    json_.end_object();
    out_.byte('\n');
  }

 private:
  void write_side(JsonName name, const ComparedSide& side) {
    json_.new_line();
    json_.begin_object(name);
    json_.member("program", side.program);
    json_.member("runs", side.runs);
    json_.member("elapsed_seconds", side.elapsed);
    if (side.processor) json_.member("processor_seconds", *side.processor);
    json_.end_object();
  }

  void write_change(JsonName name, const Change& change) {
    json_.begin_object(name);
    json_.member("a", change.first);
    json_.member("b", change.second);
    json_.member("change", change.amount());
    if (change.p) json_.member("p", *change.p);
    json_.member("known", change.is_known);
    json_.end_object();
  }

  void write_changes(const std::array<Figures, 2>& figures, bool has_total, bool has_calls) {
    write_change("self_seconds", d_.self(figures));
    if (has_total) write_change("total_seconds", d_.total(figures));
    if (d_.has_waiting) write_change("self_waiting_seconds", d_.self_waiting(figures));
    if (has_calls) write_change("calls", d_.calls(figures));
    if (has_calls && has_total) write_change("seconds_per_call", d_.per_call(figures));
  }

  void write_sides(const std::array<bool, 2>& occurs) {
    json_.member("in", occurs[0] && occurs[1] ? "both" : occurs[1] ? "b" : occurs[0] ? "a" : "none");
  }

  void write_durations(const ComparedFunction& f) {
    json_.begin_object("durations");
    json_.member("calls_a", f.durations[0].calls);
    json_.member("calls_b", f.durations[1].calls);
    write_change("p50_seconds", Difference::p50(f));
    write_change("p99_seconds", Difference::p99(f));
    write_change("greatest_seconds", Difference::greatest(f));
    json_.end_object();
  }

  void write_functions() {
    for (const ComparedFunction& f : d_.functions) {
      json_.new_line();
      json_.begin_object();
      json_.member("name", f.name);
      json_.member("module", f.module);
      if (!f.was.empty()) json_.member("was", f.was);
      write_sides(f.occurs);
      write_changes(f.sides, true, f.has_calls);
      if (f.durations[0].calls != 0 && f.durations[1].calls != 0) write_durations(f);
      json_.end_object();
    }
  }

  // As of one profile: the root is left out, and its children's parent is -1.
  void write_tree() {
    for (size_t i = 1; i < d_.contexts.size(); ++i) {
      const ComparedContext& c = d_.contexts[i];
      json_.new_line();
      json_.begin_object();
      json_.member("function", c.function);
      json_.member("parent", int64_t(c.parent) - 1);
      write_sides(c.occurs);
      write_changes(c.sides, true, d_.functions[c.function].has_calls);
      json_.end_object();
    }
  }

  const Difference& d_;
  Output& out_;
  JsonWriter json_;
};

}  // namespace

void print_difference_json(const Difference& difference, const std::string& type, Output& out) {
  Writer(difference, out).write(type);
}

// The trees of both sides as one.

namespace {

class TreePrinter {
 public:
  TreePrinter(const Difference& d, const DifferenceOptions& options, Output& out)
      : d_(d),
        options_(options),
        out_(out),
        indents_(options.columns),
        is_shown_(d.contexts.size()),
        open_(d.functions.size()) {
    for (const ComparedFunction& f : d.functions) names_.push_back(name_text(f));
    for (size_t i = d.contexts.size(); i-- > 1;) {
      const ComparedContext& c = d.contexts[i];
      if (is_shown_[i] || options.all || !c.occurs[0] || !c.occurs[1] || has_changed(d, c.sides))
        is_shown_[i] = is_shown_[c.parent] = true;
    }
  }

  void print() {
    push_children(0);
    while (!steps_.empty()) {
      const Step step = steps_.back();
      steps_.pop_back();
      const ComparedContext& context = d_.contexts[step.context];
      if (step.is_leaving) {
        --open_[context.function];
        --level_;
        continue;
      }
      print_line(context);
      if (open_[context.function] > 0 && !options_.whole_recursion) {
        if (has_shown_child(step.context)) out_.text(" " + indent_at(level_ + 1, 1 + 3) + "...\n");
        continue;
      }
      steps_.push_back({step.context, true});
      ++open_[context.function];
      ++level_;
      push_children(step.context);
    }
  }

 private:
  // A context is met a second time, marked, after those below it.
  struct Step {
    uint32_t context;
    bool is_leaving;
  };

  void push_children(uint32_t parent) {
    children_.clear();
    for (uint32_t c = d_.contexts[parent].first_child; c != 0; c = d_.contexts[c].next_sibling)
      if (is_shown_[c]) children_.push_back({order_of(c), c});
    if (options_.by_change) {
      std::stable_sort(children_.begin(), children_.end(),
                       [](const Child& a, const Child& b) { return a.order > b.order; });
    }
    for (size_t i = children_.size(); i-- > 0;) steps_.push_back({children_[i].context, false});
  }

  bool has_shown_child(uint32_t parent) const {
    for (uint32_t c = d_.contexts[parent].first_child; c != 0; c = d_.contexts[c].next_sibling)
      if (is_shown_[c]) return true;
    return false;
  }

  double order_of(uint32_t context) const {
    if (!options_.by_change) return 0;
    const ComparedContext& c = d_.contexts[context];
    return std::abs((d_.timed ? d_.total(c.sides) : d_.calls(c.sides)).amount());
  }

  // The indentation of a line that has so many columns besides.
  std::string indent_at(uint32_t level, size_t others) {
    if (!options_.columns) return indents_.at(level);
    return indents_.at(level, *options_.columns - std::min(*options_.columns, others));
  }

  void print_line(const ComparedContext& c) {
    constexpr size_t kSign = 1, kMinName = 8;
    const bool is_both = c.occurs[0] && c.occurs[1];
    const std::string figures = figures_of(c, is_both);
    out_.text(is_both ? " " : c.occurs[1] ? "+" : "-");
    out_.text(indent_at(level_, kSign + kMinName + figures.size()));
    const std::string& name = names_[c.function];
    if (!options_.columns || options_.wide) {
      out_.text(name);
    } else {
      const size_t room = *options_.columns - std::min(*options_.columns, kSign + figures.size());
      const size_t indent = indents_.columns_at(level_, room - std::min(room, kMinName));
      out_.text(fitted(name, room - std::min(room, indent)));
    }
    out_.text(figures + "\n");
  }

  std::string figures_of(const ComparedContext& c, bool is_both) const {
    std::string text = ":";
    if (d_.timed) {
      const Change total = d_.total(c.sides);
      if (is_both)
        text += marked(total, duration(total.first) + "->" + duration(total.second));
      else
        text += duration(c.occurs[1] ? total.second : total.first);
    } else {
      text += "-";
    }
    return d_.functions[c.function].has_calls ? text + calls_text(c, is_both) : text;
  }

  // As in the tree of one profile: nothing of a single call.
  std::string calls_text(const ComparedContext& c, bool is_both) const {
    const Change calls = d_.calls(c.sides);
    const double one = c.occurs[1] ? calls.second : calls.first;
    if (!is_both || calls.amount() == 0) return one == 1 ? "" : "/" + count_text(one);
    return "/" + marked(calls, count_text(calls.first) + "->" + count_text(calls.second));
  }

  struct Child {
    double order;
    uint32_t context;
  };

  const Difference& d_;
  const DifferenceOptions& options_;
  Output& out_;
  Indentation indents_;
  std::vector<std::string> names_;
  std::vector<bool> is_shown_;
  std::vector<uint32_t> open_;  // how many calls of a function the walk is inside of
  std::vector<Step> steps_;     // the next one last
  std::vector<Child> children_;
  uint32_t level_ = 0;
};

}  // namespace

void print_difference_tree(const Difference& difference, const DifferenceOptions& options, Output& out) {
  TreePrinter(difference, options, out).print();
}

}  // namespace prof
